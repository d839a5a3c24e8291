//! The functions that the macros for productions call, to decode and encode SEQUENCEs, their elements and tags.

use rasn::de::Error as _;
use rasn::types::fields::{Field, Fields};
use rasn::types::{Class, Constructed, Identifier, Tag, TagTree};
use rasn::{Decode, Decoder, Encode, Encoder};

/// A SEQUENCE that is decoded and encoded element by element.
pub(crate) trait Sequence: Sized {
    /// The Rust name of each element, with its possible tags.
    const ELEMENTS: &'static [(&'static str, TagTree)];

    fn decode_elements<D: Decoder>(decoder: &mut D) -> Result<Self, D::Error>;

    fn encode_elements<'e, E: Encoder<'e>>(&self, encoder: &mut E) -> Result<(), E::Error>;
}

/// Decodes a SEQUENCE.
pub(crate) fn decode_sequence<T: Sequence, D: Decoder>(
    decoder: &mut D,
    tag: Tag,
) -> Result<T, D::Error> {
    let mut value = None;
    decode_contents(decoder, tag, &mut |decoder| {
        value = Some(T::decode_elements(decoder)?);
        Ok(())
    })?;
    match value {
        Some(value) => Ok(value),
        None => Err(D::Error::custom("a SEQUENCE unread", decoder.codec())),
    }
}

type Read<'r, D> =
    dyn FnMut(&mut <D as Decoder>::AnyDecoder<1, 0>) -> Result<(), <D as Decoder>::Error> + 'r;
type Write<'w, 'b, 'e, E> = dyn Fn(&mut <E as Encoder<'e>>::AnyEncoder<'b, 1, 0>) -> Result<(), <E as Encoder<'e>>::Error>
    + 'w;

/// Decodes the contents of a SEQUENCE. The function for the contents is passed as a trait object, so that this code is
/// compiled only once and not for each type.
fn decode_contents<D: Decoder>(
    decoder: &mut D,
    tag: Tag,
    read: &mut Read<'_, D>,
) -> Result<(), D::Error> {
    let without_contents: Option<fn() -> Contents> = None;
    decoder.decode_sequence(tag, without_contents, |decoder| {
        read(decoder)?;
        Ok(Contents)
    })?;
    Ok(())
}

/// Encodes a SEQUENCE.
pub(crate) fn encode_sequence<'e, T: Sequence, E: Encoder<'e>>(
    value: &T,
    encoder: &mut E,
    tag: Tag,
) -> Result<(), E::Error> {
    encode_contents(encoder, tag, &|encoder| value.encode_elements(encoder))
}

/// Encodes the contents of a SEQUENCE. Like [`decode_contents`], this function is compiled only once.
fn encode_contents<'b, 'e, E: Encoder<'e>>(
    encoder: &'b mut E,
    tag: Tag,
    write: &Write<'_, 'b, 'e, E>,
) -> Result<(), E::Error> {
    encoder.encode_sequence::<1, 0, Contents, _>(tag, write, Identifier::EMPTY)?;
    Ok(())
}

/// A placeholder for the contents of any SEQUENCE. `rasn` only asks it whether all elements may be absent; if not,
/// `rasn` would refuse a SEQUENCE without contents. Here the type of each element decides whether the element may be
/// absent.
struct Contents;

impl Constructed<1, 0> for Contents {
    const FIELDS: Fields<1> = {
        let element = Field::new_required(0, Tag::EOC, TagTree::Leaf(Tag::EOC), "");
        Fields::from_static([element])
    };
}

/// Decodes an element that has the tag of its type.
pub(crate) fn untagged<T: Decode, D: Decoder>(
    decoder: &mut D,
    name: &'static str,
) -> Result<T, D::Error> {
    T::decode(decoder).map_err(|error| in_element(decoder, name, error))
}

/// Decodes an element whose tag replaces the tag of its type, or precedes it if the type is a CHOICE.
pub(crate) fn tagged<T: Decode, D: Decoder>(
    decoder: &mut D,
    tag: u32,
    name: &'static str,
) -> Result<T, D::Error> {
    T::decode_with_tag(decoder, context(tag)).map_err(|error| in_element(decoder, name, error))
}

/// Decodes an element with a tag before the tag of its type.
pub(crate) fn explicit<T: Decode, D: Decoder>(
    decoder: &mut D,
    tag: u32,
    name: &'static str,
) -> Result<T, D::Error> {
    decoder
        .decode_explicit_prefix(context(tag))
        .map_err(|error| in_element(decoder, name, error))
}

/// Decodes an OPTIONAL element with a tag before the tag of its type.
pub(crate) fn optional_explicit<T: Decode, D: Decoder>(
    decoder: &mut D,
    tag: u32,
    name: &'static str,
) -> Result<Option<T>, D::Error> {
    decoder
        .decode_optional_with_explicit_prefix(context(tag))
        .map_err(|error| in_element(decoder, name, error))
}

/// Adds to an error the name of the element in which it occurred.
fn in_element<D: Decoder>(decoder: &D, name: &'static str, error: D::Error) -> D::Error {
    D::Error::field_error(name, error.into(), decoder.codec())
}

/// Returns the error for a tag that belongs to no alternative of the CHOICE.
pub(crate) fn no_alternative<D: Decoder>(decoder: &D, name: &'static str) -> D::Error {
    D::Error::no_valid_choice(name, decoder.codec())
}

pub(crate) fn encode_explicit<'e, T: Encode, E: Encoder<'e>>(
    value: &T,
    encoder: &mut E,
    tag: u32,
) -> Result<(), E::Error> {
    encoder
        .encode_explicit_prefix(context(tag), value, Identifier::EMPTY)
        .map(drop)
}

/// Returns the context-specific tag with this number.
pub(crate) const fn context(number: u32) -> Tag {
    Tag::new(Class::Context, number)
}
