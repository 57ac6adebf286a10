#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what miniaudio decodes the sounds of TestDecode_AsMiniaudio to, in miniaudio.json.

python3 -m pip install miniaudio==1.71, then run this here. Each sound is written as hexadecimal
digits beside its samples, whole numbers of 16 bits; of an MP3 it is what stands before
stereo-44100.mp3, and every 197th sample.
"""
import json
import struct

import miniaudio


def wav(kind, bits, samples, size=None):
    """A WAV of one channel of 8000 Hz, whose header says that it has so many bytes of samples."""
    width = bits // 8
    size = len(samples) if size is None else size
    return (b"RIFF" + struct.pack("<I", min(36 + size, 0xFFFFFFFF)) + b"WAVEfmt " +
            struct.pack("<IHHIIHH", 16, kind, 1, 8000, 8000 * width, width, bits) + b"data" + struct.pack("<I", size) + samples)


def decode(data, rate):
    return list(miniaudio.decode(data, output_format=miniaudio.SampleFormat.SIGNED16, nchannels=1, sample_rate=rate).samples)


def main():
    codes = bytes(range(256))
    ramp = struct.pack("<100h", *range(-5000, 5000, 100))
    sounds = {
        "A-law": wav(6, 8, codes),
        "µ-law": wav(7, 8, codes),
        "sox's stream": wav(1, 16, ramp, 0x7FFFF000),
        "arecord's stream": wav(1, 16, ramp, 0x80000000),
        "stream of 4 GiB less the header": wav(1, 16, ramp, 0xFFFFFFDB),
        "stream of 4 GiB less 2": wav(1, 16, ramp, 0xFFFFFFFE),
        "cut off": wav(1, 16, ramp, 1000),
        "cut off within a sample": wav(1, 16, ramp[:-1], 1000),
    }
    golden = {name: {"wav": data.hex(), "samples": decode(data, 8000)} for name, data in sounds.items()}
    with open("stereo-44100.mp3", "rb") as file:
        mp3 = file.read()
    for name, junk in {"zeros": b"\0" * 3000, "text": b"hello world " * 50, "headers that lead nowhere": b"\xff\xfb\x90\x64junk" * 40}.items():
        golden["MP3 after " + name] = {"junk": junk.hex(), "samples": decode(junk + mp3, 44100)[::197]}
    with open("miniaudio.json", "w") as file:
        json.dump(golden, file, indent=None, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
