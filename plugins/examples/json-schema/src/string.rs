// SPDX-License-Identifier: MIT

/// Where inside a string the automaton is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Within {
    /// Between characters.
    Content,
    /// After a backslash.
    Escape,
    /// After \u and 4 − `left` digits; `d`: the first was a D, so that the second must not make it a surrogate.
    Hex { left: u8, d: bool },
    /// Inside a character: `left` bytes are to come, the next from `low` to `high`.
    Tail { left: u8, low: u8, high: u8 },
}

/// What a byte did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// It belongs to the character that is being written.
    Part(Within),
    /// It ended a character.
    Character,
    /// It ended the string.
    End,
    /// It cannot stand there.
    Nothing,
}

impl Within {
    /// Bytes that are needed at least before a character ends; 0 between characters.
    pub fn pending(self) -> u32 {
        match self {
            Within::Content => 0,
            Within::Escape => 1,
            Within::Hex { left, .. } | Within::Tail { left, .. } => u32::from(left),
        }
    }

    /// What the next byte does.
    pub fn take(self, byte: u8) -> Took {
        match self {
            Within::Content => content(byte),
            Within::Escape => match byte {
                b'u' => Took::Part(Within::Hex { left: 4, d: false }),
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Took::Character,
                _ => Took::Nothing,
            },
            Within::Hex { left, d } => {
                if !byte.is_ascii_hexdigit() || (left == 3 && d && !(b'0'..=b'7').contains(&byte)) {
                    return Took::Nothing;
                }
                let d = left == 4 && (byte | 0x20) == b'd';
                part(left, Within::Hex { left: left - 1, d })
            }
            Within::Tail { left, low, high } => {
                if byte < low || byte > high {
                    return Took::Nothing;
                }
                part(left, Within::Tail { left: left - 1, low: 0x80, high: 0xbf })
            }
        }
    }
}

/// What a piece does that stands in a string, between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Characters of the string, one that is only begun included.
    pub characters: u32,
    /// Where in the string the piece ends; none: it ends the string.
    pub within: Option<Within>,
    /// Bytes that belong to the string, its end included.
    pub bytes: usize,
}

impl Piece {
    /// None: it cannot stand there.
    pub fn new(piece: &[u8]) -> Option<Piece> {
        let (mut characters, mut within) = (0, Within::Content);
        for (i, byte) in piece.iter().enumerate() {
            match within.take(*byte) {
                Took::Part(next) => within = next,
                Took::Character => {
                    characters += 1;
                    within = Within::Content;
                }
                Took::End => return Some(Piece { characters, within: None, bytes: i + 1 }),
                Took::Nothing => return None,
            }
        }
        characters += u32::from(within != Within::Content);
        Some(Piece { characters, within: Some(within), bytes: piece.len() })
    }
}

fn part(left: u8, then: Within) -> Took {
    if left == 1 {
        Took::Character
    } else {
        Took::Part(then)
    }
}

/// The first byte of a character, by the table of well-formed UTF-8.
fn content(byte: u8) -> Took {
    let tail = |left, low, high| Took::Part(Within::Tail { left, low, high });
    match byte {
        b'"' => Took::End,
        b'\\' => Took::Part(Within::Escape),
        0x20..=0x7f => Took::Character,
        0xc2..=0xdf => tail(1, 0x80, 0xbf),
        0xe0 => tail(2, 0xa0, 0xbf),
        0xed => tail(2, 0x80, 0x9f),
        0xe1..=0xef => tail(2, 0x80, 0xbf),
        0xf0 => tail(3, 0x90, 0xbf),
        0xf1..=0xf3 => tail(3, 0x80, 0xbf),
        0xf4 => tail(3, 0x80, 0x8f),
        _ => Took::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piece_counts_characters() {
        let open = |characters, within, bytes| Some(Piece { characters, within: Some(within), bytes });
        assert_eq!(Piece::new("aé\\n".as_bytes()), open(3, Within::Content, 5));
        assert_eq!(Piece::new(b"a\\"), open(2, Within::Escape, 2));
        assert_eq!(Piece::new(b"\\u00"), open(1, Within::Hex { left: 2, d: false }, 4));
        assert_eq!(Piece::new(b"\xe6\x97"), open(1, Within::Tail { left: 1, low: 0x80, high: 0xbf }, 2));
        assert_eq!(Piece::new(b"ab\",\""), Some(Piece { characters: 2, within: None, bytes: 3 }));
        assert_eq!(Piece::new(b"\""), Some(Piece { characters: 0, within: None, bytes: 1 }));
        assert_eq!(Piece::new(b"a\n"), None);
        assert_eq!(Piece::new(b"\x97"), None);
    }
}
