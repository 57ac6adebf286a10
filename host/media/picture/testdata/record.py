#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the pictures that Pillow has decoded for TestDecode_AsPillow, and what it decodes them to.

python3 -m pip install pillow==13.0.0, then run this here. Of a picture with alpha that is its
colours over white.
"""
import io
import json
import math

from PIL import Image

WIDTH, HEIGHT = 23, 17  # odd, so that the last samples of colour stand for half as many pixels


def drawing():
    picture = Image.new("RGB", (WIDTH, HEIGHT))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            corner = {(0, 0): (0, 0, 0), (1, 0): (255, 255, 255), (2, 0): (255, 0, 0), (3, 0): (0, 255, 0)}.get((x // 4, y // 4))
            wave = int(127 + 120 * math.sin(x * 0.5 + y * 0.3))
            picture.putpixel((x, y), corner or (wave, 255 - 11 * x, 15 * y % 256))
    return picture


def webp(picture, **options):
    out = io.BytesIO()
    picture.save(out, "WEBP", **options)
    return out.getvalue()


def cmyk(picture):
    """Without the marker by which Adobe says that the inks are inverted."""
    out = io.BytesIO()
    picture.convert("CMYK").save(out, "JPEG", quality=95, subsampling=0)
    data, i = out.getvalue(), 2
    while data[i + 1] != 0xDA:
        n = 2 + int.from_bytes(data[i + 2 : i + 4], "big")
        if data[i + 1] == 0xEE:
            data = data[:i] + data[i + n :]
        else:
            i += n
    return data


def main():
    picture = drawing()
    seen = picture.convert("RGBA")
    seen.putalpha(Image.linear_gradient("L").resize((WIDTH, HEIGHT)))
    black = Image.new("RGB", (16, 16))
    files = {
        "odd-lossy.webp": webp(picture, quality=90, method=6),
        "even-lossy.webp": webp(picture.crop((0, 0, 22, 16)), quality=60),
        "low-lossy.webp": webp(picture, quality=5),
        "one-lossy.webp": webp(Image.new("RGB", (1, 1), (250, 5, 5)), quality=90),
        "black-lossy.webp": webp(black, quality=90),
        "odd-lossy-alpha.webp": webp(seen, quality=90),
        "cmyk-unmarked.jpg": cmyk(picture),
    }
    golden = {}
    for name, data in files.items():
        with open(name, "wb") as file:
            file.write(data)
        decoded = Image.open(io.BytesIO(data))
        if decoded.mode == "RGBA":
            decoded = Image.alpha_composite(Image.new("RGBA", decoded.size, "white"), decoded)
        golden[name] = {"width": decoded.width, "height": decoded.height, "pixels": decoded.convert("RGB").tobytes().hex()}
    with open("pillow.json", "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
