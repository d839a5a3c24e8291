//! The macros that declare ASN.1 productions as Rust types: the elements of a SEQUENCE or CHOICE with their tags, and
//! their encoding in BER by `rasn`.
//!
//! The derives of `rasn` would generate several times as much code for each type, most of it for other encoding rules.
//! With some 350 types, they would make a user's first build of this crate a quarter longer.
mod elements;

pub(crate) use self::elements::*;

/// Declares productions and their BER encoding: SEQUENCEs, CHOICEs, named INTEGERs, and newtypes that are encoded like
/// the values in them.
///
/// Tags are written before the elements as in the standard: `[3]`, or `[explicit 3]` if the standard says EXPLICIT.
macro_rules! productions {
    ($($(#[$($meta:tt)+])* $([$($tag:tt)+])? pub $kind:ident $name:ident $contents:tt)*) => {$(
        $crate::production::production! {
            #[derive(Clone, Debug, PartialEq)]
            $(#[$($meta)+])* $([$($tag)+])? pub $kind $name $contents
        }
    )*};
}
pub(crate) use productions;

/// Declares one of the [`productions!`] with explicit derives, for types whose `Debug` must not show a secret.
///
/// An element's type is matched in parts, because an OPTIONAL element with an explicit tag is decoded in a different
/// way.
macro_rules! production {
    ($(#[$meta:meta])* $([$($outer:tt)+])? pub struct $name:ident {
        $($(#[$element_meta:meta])* $([$($tag:tt)+])? $element:ident: $type:ident $(<$of:ty>)?,)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$element_meta])* pub $element: $type $(<$of>)?,)*
        }

        impl $crate::production::Sequence for $name {
            const ELEMENTS: &'static [(&'static str, rasn::types::TagTree)] = &[
                $((stringify!($element), $crate::production::tag_tree!([$($($tag)+)?] $type $(<$of>)?)),)*
            ];

            fn decode_elements<D: rasn::Decoder>(decoder: &mut D) -> Result<Self, D::Error> {
                Ok(Self {
                    $($element: $crate::production::decode_element!(
                        decoder,
                        concat!(stringify!($name), ".", stringify!($element)),
                        [$($($tag)+)?] $type $(<$of>)?
                    )?,)*
                })
            }

            fn encode_elements<'e, E: rasn::Encoder<'e>>(&self, encoder: &mut E) -> Result<(), E::Error> {
                $($crate::production::encode!(encoder, [$($($tag)+)?] &self.$element)?;)*
                Ok(())
            }
        }

        $crate::production::ber! {
            $name: [$($($outer)+)?] rasn::types::Tag::SEQUENCE,
            decode(decoder, tag) { $crate::production::decode_sequence(decoder, tag) }
            encode(value, encoder, tag) { $crate::production::encode_sequence(value, encoder, tag) }
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$alternative_meta:meta])* $([$($tag:tt)+])? $alternative:ident $(($type:ty))?,)*
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$alternative_meta])* $alternative $(($type))?,)*
        }

        impl rasn::AsnType for $name {
            const TAG: rasn::types::Tag = rasn::types::Tag::EOC;
            const TAG_TREE: rasn::types::TagTree = rasn::types::TagTree::Choice(<Self as rasn::types::Choice>::VARIANTS);
            const IS_CHOICE: bool = true;
        }

        impl rasn::types::Choice for $name {
            const VARIANTS: &'static [rasn::types::TagTree] = &[
                $($crate::production::tag_tree!([$($($tag)+)?] $($type)?),)*
            ];
            const VARIANCE_CONSTRAINT: rasn::types::Constraints = rasn::types::Constraints::NONE;
            const IDENTIFIERS: &'static [&'static str] = &[];
        }

        impl rasn::types::DecodeChoice for $name {
            fn from_tag<D: rasn::Decoder>(decoder: &mut D, tag: rasn::types::Tag) -> Result<Self, D::Error> {
                $(if $crate::production::is_tag!(tag, [$($($tag)+)?] $($type)?) {
                    return $crate::production::decode_alternative!(decoder, $alternative, [$($($tag)+)?] $($type)?);
                })*
                Err($crate::production::no_alternative(decoder, stringify!($name)))
            }
        }

        impl rasn::Decode for $name {
            fn decode<D: rasn::Decoder>(decoder: &mut D) -> Result<Self, D::Error> {
                decoder.decode_choice(&rasn::types::Constraints::NONE)
            }

            fn decode_with_tag_and_constraints<D: rasn::Decoder>(
                decoder: &mut D,
                tag: rasn::types::Tag,
                _: &rasn::types::Constraints,
            ) -> Result<Self, D::Error> {
                decoder.decode_explicit_prefix(tag)
            }
        }

        impl rasn::Encode for $name {
            fn encode<'e, E: rasn::Encoder<'e>>(&self, encoder: &mut E) -> Result<(), E::Error> {
                match self {
                    $($crate::production::alternative!($alternative, value $(, $type)?) =>
                        $crate::production::encode!(
                            encoder, [$($($tag)+)?] $crate::production::held!(value $(, $type)?)
                        ),)*
                }
            }

            fn encode_with_tag_and_constraints<'e, E: rasn::Encoder<'e>>(
                &self,
                encoder: &mut E,
                tag: rasn::types::Tag,
                _: &rasn::types::Constraints,
                identifier: rasn::types::Identifier,
            ) -> Result<(), E::Error> {
                encoder.encode_explicit_prefix(tag, self, identifier).map(drop)
            }
        }
    };
    ($(#[$meta:meta])* $([$($tag:tt)+])? pub struct $name:ident($visible:vis $type:ty)) => {
        $(#[$meta])*
        pub struct $name($visible $type);

        $crate::production::ber! {
            $name: [$($($tag)+)?] <$type as rasn::AsnType>::TAG,
            decode(decoder, tag) { Ok(Self(<$type as rasn::Decode>::decode_with_tag(decoder, tag)?)) }
            encode(value, encoder, tag) { rasn::Encode::encode_with_tag(&value.0, encoder, tag) }
        }
    };
    // This arm defines a newtype for an open set of values, with constants and the names of the values in the standard.
    (#[derive(Clone, Debug, PartialEq)] $(#[$($meta:tt)+])* $([$($tag:tt)+])? pub integer $name:ident {
        $($(#[$value_meta:meta])* $constant:ident = $value:literal $text:literal),* $(,)?
    }) => {
        $crate::production::production! {
            $(#[$($meta)+])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
            $([$($tag)+])? pub struct $name(pub i64)
        }

        impl $name {
            $(
                #[doc = concat!("`", $text, "`")]
                $(#[$value_meta])*
                pub const $constant: Self = Self($value);
            )*

            /// Returns the name of the value in the standard, if it has one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", self.name().unwrap_or("unnamed"), self.0)
            }
        }
    };
}
pub(crate) use production;

/// Implements BER for a type. The type has the tag in brackets or, if the brackets are empty, the tag after them.
macro_rules! ber {
    (
        $name:ident: [$($tag:tt)*] $usual:expr,
        decode($decoder:ident, $decoded_tag:ident) $decode:block
        encode($value:ident, $encoder:ident, $encoded_tag:ident) $encode:block
    ) => {
        impl rasn::AsnType for $name {
            const TAG: rasn::types::Tag = $crate::production::tag!([$($tag)*] $usual);
        }

        impl rasn::Decode for $name {
            fn decode_with_tag_and_constraints<D: rasn::Decoder>(
                $decoder: &mut D,
                $decoded_tag: rasn::types::Tag,
                _: &rasn::types::Constraints,
            ) -> Result<Self, D::Error> {
                $decode
            }
        }

        impl rasn::Encode for $name {
            fn encode_with_tag_and_constraints<'e, E: rasn::Encoder<'e>>(
                &self,
                $encoder: &mut E,
                $encoded_tag: rasn::types::Tag,
                _: &rasn::types::Constraints,
                _: rasn::types::Identifier,
            ) -> Result<(), E::Error> {
                let $value = self;
                $encode
            }
        }
    };
}
pub(crate) use ber;

macro_rules! tag {
    ([] $usual:expr) => {
        $usual
    };
    ([universal $tag:literal] $usual:expr) => {
        rasn::types::Tag::new(rasn::types::Class::Universal, $tag)
    };
    ([$tag:literal] $usual:expr) => {
        $crate::production::context($tag)
    };
}
pub(crate) use tag;

macro_rules! tag_tree {
    ([]) => {
        <() as rasn::AsnType>::TAG_TREE
    };
    ([] $type:ty) => {
        <$type as rasn::AsnType>::TAG_TREE
    };
    ([$($explicit:ident)? $tag:literal] $($type:tt)*) => {
        rasn::types::TagTree::Leaf($crate::production::context($tag))
    };
}
pub(crate) use tag_tree;

macro_rules! decode_element {
    ($decoder:ident, $name:expr, [] $type:ty) => {
        $crate::production::untagged::<$type, _>($decoder, $name)
    };
    ($decoder:ident, $name:expr, [explicit $tag:literal] Option<$of:ty>) => {
        $crate::production::optional_explicit::<$of, _>($decoder, $tag, $name)
    };
    ($decoder:ident, $name:expr, [explicit $tag:literal] $type:ty) => {
        $crate::production::explicit::<$type, _>($decoder, $tag, $name)
    };
    ($decoder:ident, $name:expr, [$tag:literal] $type:ty) => {
        $crate::production::tagged::<$type, _>($decoder, $tag, $name)
    };
}
pub(crate) use decode_element;

macro_rules! encode {
    ($encoder:ident, [] $value:expr) => {
        rasn::Encode::encode($value, $encoder)
    };
    ($encoder:ident, [explicit $tag:literal] $value:expr) => {
        $crate::production::encode_explicit($value, $encoder, $tag)
    };
    ($encoder:ident, [$tag:literal] $value:expr) => {
        rasn::Encode::encode_with_tag($value, $encoder, $crate::production::context($tag))
    };
}
pub(crate) use encode;

macro_rules! is_tag {
    ($tag:ident, []) => {
        $tag == rasn::types::Tag::NULL
    };
    ($tag:ident, [] $type:ty) => {
        rasn::types::TagTree::tag_contains(&$tag, &[<$type as rasn::AsnType>::TAG_TREE])
    };
    ($tag:ident, [$($explicit:ident)? $number:literal] $($type:ty)?) => {
        $tag == $crate::production::context($number)
    };
}
pub(crate) use is_tag;

macro_rules! decode_alternative {
    ($decoder:ident, $alternative:ident, []) => {{
        <() as rasn::Decode>::decode($decoder)?;
        Ok(Self::$alternative)
    }};
    ($decoder:ident, $alternative:ident, [$tag:literal]) => {{
        <() as rasn::Decode>::decode_with_tag($decoder, $crate::production::context($tag))?;
        Ok(Self::$alternative)
    }};
    ($decoder:ident, $alternative:ident, [] $type:ty) => {
        Ok(Self::$alternative(<$type as rasn::Decode>::decode(
            $decoder,
        )?))
    };
    ($decoder:ident, $alternative:ident, [explicit $tag:literal] $type:ty) => {
        Ok(Self::$alternative($decoder.decode_explicit_prefix(
            $crate::production::context($tag),
        )?))
    };
    ($decoder:ident, $alternative:ident, [$tag:literal] $type:ty) => {
        Ok(Self::$alternative(
            <$type as rasn::Decode>::decode_with_tag($decoder, $crate::production::context($tag))?,
        ))
    };
}
pub(crate) use decode_alternative;

/// Expands to the pattern that matches an alternative.
macro_rules! alternative {
    ($alternative:ident, $value:ident) => {
        Self::$alternative
    };
    ($alternative:ident, $value:ident, $type:ty) => {
        Self::$alternative($value)
    };
}
pub(crate) use alternative;

/// Expands to the value of an alternative: the variable bound by its pattern, or NULL.
macro_rules! held {
    ($value:ident) => {
        &()
    };
    ($value:ident, $type:ty) => {
        $value
    };
}
pub(crate) use held;

#[cfg(test)]
mod tests {
    #![allow(unreachable_pub)] // `productions!` accepts only public types.

    use rasn::{Decode, Encode};

    productions! {
        pub struct Sample {
            [1] implicit: Option<i64>,
            [explicit 2] explicit: Option<i64>,
            untagged: Option<bool>,
            choice: Choice,
        }

        pub enum Choice {
            [3] Implicit(i64),
            [explicit 4] Explicit(i64),
            Untagged(Number),
            [40] Tagged,
            Null,
        }

        [universal 28] pub struct Number(i64)

        pub struct AllOptional {
            [1] number: Option<i64>,
        }
    }

    fn check<T: Encode + Decode + PartialEq + std::fmt::Debug>(value: T, octets: &[u8]) {
        assert_eq!(rasn::ber::encode(&value).expect("encodes"), octets);
        assert_eq!(rasn::ber::decode::<T>(octets).expect("decodes"), value);
    }

    #[test]
    fn elements_and_alternatives_have_the_tags_written() {
        check(
            Sample {
                implicit: Some(5),
                explicit: Some(6),
                untagged: Some(true),
                choice: Choice::Null,
            },
            &[0x30, 13, 0x81, 1, 5, 0xa2, 3, 2, 1, 6, 1, 1, 0xff, 5, 0],
        );
        check(
            Sample {
                implicit: None,
                explicit: None,
                untagged: None,
                choice: Choice::Implicit(7),
            },
            &[0x30, 3, 0x83, 1, 7],
        );
        check(Choice::Explicit(7), &[0xa4, 3, 2, 1, 7]);
        check(Choice::Untagged(Number(7)), &[0x1c, 1, 7]);
        check(Choice::Tagged, &[0x9f, 40, 0]);
        check(AllOptional { number: None }, &[0x30, 0]);
    }

    #[test]
    fn an_error_names_the_element() {
        for (octets, name) in [
            (&[0x30, 3, 0x81, 0, 5][..], "Sample.implicit"),
            (&[0x30, 4, 0xa2, 2, 2, 0], "Sample.explicit"),
            (&[0x30, 3, 1, 2, 0], "Sample.untagged"),
            (&[0x30, 3, 0x85, 1, 0], "Sample.choice"),
        ] {
            let error = rasn::ber::decode::<Sample>(octets).expect_err("malformed");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
