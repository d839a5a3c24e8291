//! The type of a Gopher item, which is one character and determines how a reply is interpreted. Source: Gopher URL
//! draft §2.1, which lists the types of RFC 1436 §3.8 and some others.

use std::fmt;

use super::super::common;

/// The type of an item, which is the character before the selector in a URL. It is never sent, but is needed to
/// interpret the reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GopherType(u8);

impl GopherType {
    /// `0`: text.
    pub const TEXT: Self = Self(b'0');
    /// `1`: a menu, which is the default for a URL without a path.
    pub const MENU: Self = Self(b'1');
    /// `3`: an error in place of an item.
    pub const ERROR: Self = Self(b'3');
    /// `7`: a search.
    pub const SEARCH: Self = Self(b'7');
    /// `9`: any octets.
    pub const BINARY: Self = Self(b'9');
    /// `i`: an informational line in a menu, which is common, but not standardised.
    pub const INFO: Self = Self(b'i');

    /// Creates the type with this character. Returns `None` unless the character is a letter, a digit or one of
    /// `$-_.+!*'(),;/?:@&=`, which a URL may contain unescaped.
    pub fn new(character: u8) -> Option<Self> {
        common::is_xchar(character).then_some(Self(character))
    }

    /// Returns the character of the type.
    pub fn as_char(self) -> char {
        char::from(self.0)
    }

    /// Returns whether the type is in the draft: `0`–`9`, `+`, `I`, `g` and `T`.
    pub fn is_listed(self) -> bool {
        self.0.is_ascii_digit() || b"+IgT".contains(&self.0)
    }

    /// Returns the kind of reply for this type.
    pub fn reply_kind(self) -> ReplyKind {
        match self.0 {
            b'0' | b'4' | b'6' => ReplyKind::Text,
            b'1' | b'7' => ReplyKind::Menu,
            b'2' => ReplyKind::Cso,
            b'3' => ReplyKind::Error,
            b'8' | b'T' => ReplyKind::Session,
            b'+' => ReplyKind::RedundantServer,
            _ => ReplyKind::Binary,
        }
    }
}

impl fmt::Display for GopherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_char().fmt(f)
    }
}

impl fmt::Debug for GopherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GopherType({:?})", self.as_char())
    }
}

/// The kind of reply that a server sends for an item, or the service to which the item refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyKind {
    /// `0`, `4` (BinHex) and `6` (uuencoded): lines of text. In RFC 1436, a line with a single dot follows them.
    Text,
    /// `1` and `7`: a menu.
    Menu,
    /// `2`: a CSO phone book at the host and port.
    Cso,
    /// `3`: an error.
    Error,
    /// `8` (telnet) and `T` (tn3270): a terminal session at the host and port.
    Session,
    /// `+`: another server for the preceding item in a menu.
    RedundantServer,
    /// `5`, `9`, `g`, `I` and other types: octets until the end of the connection.
    Binary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_type_has_its_reply() {
        let check = |types: &str, kind, listed| {
            for character in types.bytes() {
                let item_type = GopherType::new(character).expect("a type");
                assert_eq!(item_type.reply_kind(), kind, "{item_type}");
                assert_eq!(item_type.is_listed(), listed, "{item_type}");
            }
        };
        check("046", ReplyKind::Text, true);
        check("17", ReplyKind::Menu, true);
        check("2", ReplyKind::Cso, true);
        check("3", ReplyKind::Error, true);
        check("8T", ReplyKind::Session, true);
        check("+", ReplyKind::RedundantServer, true);
        check("59gI", ReplyKind::Binary, true);
        check("hisdpMP;:/?@&=$-_.!*'(),", ReplyKind::Binary, false);
        for character in *b" %#\"<>~{}\x00\x7F\xFF" {
            assert_eq!(GopherType::new(character), None);
        }
    }
}
