//! Types for two kinds of SEQUENCE elements that the macros for productions cannot express: an OPTIONAL CHOICE without
//! a tag (Z39.50-2003 §4.1, `records Records OPTIONAL`), and elements that later versions of the standard may append.

use std::ops::{Deref, DerefMut};

use rasn::prelude::*;
use rasn::types::{Choice, Constraints, DecodeChoice, Identifier, TagTree};
use rasn::{Decoder, Encoder};

use crate::production::ber;
use crate::types::Any;

/// An OPTIONAL untagged CHOICE, which is absent if the tag of the next element belongs to no alternative.
///
/// Use it like an `Option`, and build it with `Some(value).into()` or `OptionalChoice::default()`.
#[derive(Clone, PartialEq, Debug)]
pub struct OptionalChoice<T>(pub Option<T>);

impl<T> Default for OptionalChoice<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<Option<T>> for OptionalChoice<T> {
    fn from(value: Option<T>) -> Self {
        Self(value)
    }
}

impl<T> From<T> for OptionalChoice<T> {
    fn from(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T> Deref for OptionalChoice<T> {
    type Target = Option<T>;
    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<T> DerefMut for OptionalChoice<T> {
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.0
    }
}

impl<T: AsnType> AsnType for OptionalChoice<T> {
    const TAG: Tag = Tag::EOC;
    const TAG_TREE: TagTree = T::TAG_TREE;
    const IS_CHOICE: bool = true;
    fn is_present(&self) -> bool {
        self.0.is_some()
    }
}

impl<T: Encode> Encode for OptionalChoice<T> {
    fn encode<'b, E: Encoder<'b>>(&self, encoder: &mut E) -> Result<(), E::Error> {
        self.0
            .as_ref()
            .map_or(Ok(()), |value| value.encode(encoder))
    }

    fn encode_with_tag_and_constraints<'b, E: Encoder<'b>>(
        &self,
        encoder: &mut E,
        tag: Tag,
        constraints: &Constraints,
        identifier: Identifier,
    ) -> Result<(), E::Error> {
        self.0.as_ref().map_or(Ok(()), |value| {
            value.encode_with_tag_and_constraints(encoder, tag, constraints, identifier)
        })
    }
}

impl<T: DecodeChoice> Decode for OptionalChoice<T> {
    fn decode<D: Decoder>(decoder: &mut D) -> Result<Self, D::Error> {
        // A CHOICE has no tag of its own, so the decoder tries to decode whichever element comes next.
        let next = decoder.decode_optional_with_constraints::<Self>(&T::CONSTRAINTS)?;
        Ok(next.unwrap_or_default())
    }

    fn decode_with_constraints<D: Decoder>(
        decoder: &mut D,
        constraints: &Constraints,
    ) -> Result<Self, D::Error> {
        decoder.decode_choice(constraints)
    }

    fn decode_with_tag_and_constraints<D: Decoder>(
        decoder: &mut D,
        tag: Tag,
        _: &Constraints,
    ) -> Result<Self, D::Error> {
        decoder
            .decode_optional_with_explicit_prefix::<T>(tag)
            .map(Self)
    }
}

impl<T: DecodeChoice> Choice for OptionalChoice<T> {
    const VARIANTS: &'static [TagTree] = T::VARIANTS;
    const VARIANCE_CONSTRAINT: Constraints = T::VARIANCE_CONSTRAINT;
    const IDENTIFIERS: &'static [&'static str] = T::IDENTIFIERS;
}

impl<T: DecodeChoice> DecodeChoice for OptionalChoice<T> {
    /// Decodes the CHOICE, or consumes nothing if the tag belongs to no alternative.
    fn from_tag<D: Decoder>(decoder: &mut D, tag: Tag) -> Result<Self, D::Error> {
        if TagTree::tag_contains(&tag, &[T::TAG_TREE]) {
            T::from_tag(decoder, tag).map(|value| Self(Some(value)))
        } else {
            Ok(Self(None))
        }
    }
}

/// Unknown elements after the last known element. They are kept and encoded unchanged (Z39.50-2003 §3.2.1 requires this
/// for Init).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Unknown(pub Vec<Any>);

ber! {
    Unknown: [] Tag::EOC,
    decode(decoder, _tag) {
        let mut elements = Vec::new();
        while let Some(element) = decoder.decode_optional::<Any>()? {
            elements.push(element);
        }
        Ok(Self(elements))
    }
    encode(unknown, encoder, _tag) { unknown.0.iter().try_for_each(|element| element.encode(encoder)) }
}
