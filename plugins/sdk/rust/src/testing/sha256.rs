// SPDX-License-Identifier: MIT

//! SHA-256 (FIPS 180-4). Session files identify masks by it.

use std::format;
use std::string::String;
use std::vec::Vec;

/// The first 32 bits of the fractions of roots of the first primes. A root of a small number has
/// enough bits in an f64.
fn fractions(n: usize, root: fn(f64) -> f64) -> Vec<u32> {
    let primes = (2u32..).filter(|p| (2..*p).take_while(|d| d * d <= *p).all(|d| p % d != 0));
    primes.take(n).map(|p| (root(f64::from(p)).fract() * 4294967296.0) as u32).collect()
}

/// The digest in hexadecimal digits.
pub(super) fn sha256(message: &[u8]) -> String {
    let (mut hash, rounds) = (fractions(8, f64::sqrt), fractions(64, f64::cbrt));
    let mut bytes = message.to_vec();
    bytes.push(0x80);
    bytes.resize((bytes.len() + 8 + 63) / 64 * 64 - 8, 0);
    bytes.extend((8 * message.len() as u64).to_be_bytes());
    for block in bytes.chunks(64) {
        let mut w: Vec<u32> = block.chunks(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for i in 16..64 {
            let (a, b) = (w[i - 15], w[i - 2]);
            let (a, b) = (a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3, b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10);
            w.push(w[i - 16].wrapping_add(a).wrapping_add(w[i - 7]).wrapping_add(b));
        }
        let mut h = hash.clone();
        for i in 0..64 {
            let (a, e) = (h[0], h[4]);
            let chosen = e & h[5] ^ !e & h[6];
            let most = a & h[1] ^ a & h[2] ^ h[1] & h[2];
            let first = h[7].wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25));
            let first = first.wrapping_add(chosen).wrapping_add(rounds[i]).wrapping_add(w[i]);
            let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(most);
            h.rotate_right(1);
            h[4] = h[4].wrapping_add(first);
            h[0] = first.wrapping_add(second);
        }
        hash.iter_mut().zip(h).for_each(|(sum, x)| *sum = sum.wrapping_add(x));
    }
    hash.iter().map(|x| format!("{:08x}", x)).collect()
}

#[cfg(test)]
mod tests {
    use super::sha256;

    /// The examples of FIPS 180-4, and what `sha256sum` says.
    #[test]
    fn sha256_is_the_standard() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha256(two), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
