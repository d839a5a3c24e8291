//! Descriptions of ASN.1 values, whose elements have the standard's names. The text, JSON and XML written by
//! [`record`](crate::record) are based on them.

use std::borrow::Cow;

use bytes::Bytes;

use crate::apdu::external::External;
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::spelling::standard_name;
use crate::types::{GeneralizedTime, InternationalString, OctetString, VisibleString};

/// A description of an ASN.1 value, ready to be written in any form.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An element that is absent.
    Nothing,
    /// BOOLEAN, or NULL, which is true if it is present.
    Flag(bool),
    /// INTEGER.
    Number(i64),
    /// A string. If its octets are not UTF-8, they are read as ISO 8859-1 in a VisibleString, and replaced by U+FFFD in
    /// other strings.
    Text(String),
    /// OCTET STRING.
    Octets(Bytes),
    /// EXTERNAL: a record or a part of a record, in its own syntax.
    Record(Box<External>),
    /// SEQUENCE OF.
    List(Vec<Value>),
    /// SEQUENCE, or the chosen alternative of a CHOICE: elements with their names and order in the standard.
    Group(Vec<(Cow<'static, str>, Value)>),
}

/// A type that can describe its value.
pub trait Describe {
    /// Returns a description of the value; absent elements are left out.
    fn describe(&self) -> Value;
}

impl Value {
    /// Creates a group of elements. Their Rust names are converted to those of the standard (`call_number` becomes
    /// `callNumber`).
    pub(crate) fn group(elements: Vec<(&'static str, Value)>) -> Self {
        let present = elements
            .into_iter()
            .filter(|(_, value)| *value != Self::Nothing)
            .map(|(name, value)| (standard_name(name), value));
        Self::Group(present.collect())
    }

    /// Creates a text value from octets. U+FFFD replaces octets that are not UTF-8.
    pub(crate) fn text(octets: &[u8]) -> Self {
        Self::Text(String::from_utf8_lossy(octets).into_owned())
    }
}

/// Defines [productions](crate::production) that describe themselves: a SEQUENCE by the names of its elements, a CHOICE
/// by the name of the alternative chosen, a newtype by the value it holds, a named INTEGER by the name of its value.
macro_rules! described {
    ($($(#[$($meta:tt)+])* $([$($tag:tt)+])? pub $kind:ident $name:ident $contents:tt)*) => {$(
        $crate::production::productions! {
            $(#[$($meta)+])* $([$($tag)+])? pub $kind $name $contents
        }
        $crate::describe::describe_production!($kind $name $contents);
    )*};
}
pub(crate) use described;

macro_rules! describe_production {
    (struct $name:ident {
        $($(#[$meta:meta])* $([$($tag:tt)+])? $element:ident: $type:ident $(<$of:ty>)?,)*
    }) => {
        $crate::describe::describe!($name: value => $crate::describe::Value::group(vec![
            $((stringify!($element), $crate::describe::Describe::describe(&value.$element)),)*
        ]));
    };
    (struct $name:ident($visible:vis $type:ty)) => {
        $crate::describe::describe!($name: value => $crate::describe::Describe::describe(&value.0));
    };
    (enum $name:ident { $($(#[$meta:meta])* $([$($tag:tt)+])? $alternative:ident $(($type:ty))?,)* }) => {
        $crate::describe::describe!($name: choice => match choice {
            $($crate::production::alternative!($alternative, value $(, $type)?) => {
                let value = $crate::describe::Describe::describe($crate::production::held!(value $(, $type)?));
                $crate::describe::Value::group(vec![(stringify!($alternative), value)])
            })*
        });
    };
    (integer $name:ident $contents:tt) => {
        $crate::describe::describe!($name: value => match value.name() {
            Some(name) => $crate::describe::Value::Text(name.to_owned()),
            None => $crate::describe::Value::Number(value.0),
        });
    };
}
pub(crate) use describe_production;

/// Defines CHOICEs that describe only their value, because its type shows which alternative it is.
macro_rules! bare_choices {
    ($($(#[$($meta:tt)+])* pub enum $name:ident {
        $($(#[$alternative_meta:meta])* $([$($tag:tt)+])? $alternative:ident $(($type:ty))?,)*
    })*) => {$(
        $crate::production::productions! {
            $(#[$($meta)+])*
            pub enum $name { $($(#[$alternative_meta])* $([$($tag)+])? $alternative $(($type))?,)* }
        }
        $crate::describe::describe!($name: choice => match choice {
            $($crate::production::alternative!($alternative, value $(, $type)?) =>
                $crate::describe::Describe::describe($crate::production::held!(value $(, $type)?)),)*
        });
    )*};
}
pub(crate) use bare_choices;

/// Defines [productions](crate::production) with a secret, which neither `describe` nor `Debug` shows.
macro_rules! redacted {
    ($($(#[$($meta:tt)+])* pub $kind:ident $name:ident $contents:tt)*) => {$(
        $crate::production::production! {
            #[derive(Clone, PartialEq)]
            $(#[$($meta)+])* pub $kind $name $contents
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(<redacted>)"))
            }
        }

        $crate::describe::describe!($name: _value => $crate::describe::Value::Text("<redacted>".into()));
    )*};
}
pub(crate) use redacted;

/// Implements `Describe` for a type, which is written as `TYPE: value => DESCRIPTION`.
macro_rules! describe {
    ($type:ty: $value:ident => $description:expr) => {
        impl $crate::describe::Describe for $type {
            fn describe(&self) -> $crate::describe::Value {
                let $value = self;
                $description
            }
        }
    };
}
pub(crate) use describe;

describe!((): _value => Value::Flag(true));
describe!(bool: flag => Value::Flag(*flag));
describe!(i64: number => Value::Number(*number));
describe!(InternationalString: string => Value::text(string.as_bytes()));
describe!(GeneralizedTime: time => Value::text(time.as_bytes()));
describe!(VisibleString: string => Value::Text(string.to_string_lossy().into_owned()));
describe!(OctetString: octets => Value::Octets(octets.to_bytes()));
describe!(Oid: oid => Value::Text(oid.to_string()));
describe!(External: external => Value::Record(Box::new(external.clone())));

impl<T: Describe> Describe for Option<T> {
    fn describe(&self) -> Value {
        self.as_ref().map_or(Value::Nothing, T::describe)
    }
}

impl<T: Describe> Describe for OptionalChoice<T> {
    fn describe(&self) -> Value {
        self.0.describe()
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn describe(&self) -> Value {
        // An iterator instead of this loop would generate much more code for each type.
        let mut list = Vec::with_capacity(self.len());
        for value in self {
            list.push(value.describe());
        }
        Value::List(list)
    }
}

impl<T: Describe> Describe for Box<T> {
    fn describe(&self) -> Value {
        T::describe(self)
    }
}
