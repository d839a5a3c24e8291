//! What the parts of APDUs that stand in these formats consist of, for [`Describe`]: attributes, sort keys, diagnostics,
//! queries and compositions (Z39.50-2003 §4.1).

use std::borrow::Cow;

use crate::apdu::{
    AddInfo, AttributeElement, AttributeList, AttributeValue, CompSpec, DatabaseSpecificSort,
    DatabaseSpecification, DefaultDiagFormat, DiagRec, ExternalValue, Query, SortAttributes,
    SortElement, SortKey,
};
use crate::format::diag1::DiagnosticFormat;
use crate::record::tree::{Describe, Value};
use crate::types::VisibleString;

impl Describe for VisibleString {
    fn describe(&self) -> Value {
        Value::Text(self.to_string_lossy().into_owned())
    }
}

impl Describe for DiagRec {
    fn describe(&self) -> Value {
        match self {
            Self::DefaultFormat(diagnostic) => diagnostic.describe(),
            Self::ExternallyDefined(external) => match DiagnosticFormat::from_external(external) {
                Ok(diagnostics) => diagnostics.describe(),
                Err(_) => external.describe(),
            },
        }
    }
}

impl Describe for DefaultDiagFormat {
    /// With `message`, what a condition of Bib-1 means.
    fn describe(&self) -> Value {
        let message = self.message().map(|text| Value::Text(text.to_owned()));
        Value::group([
            ("diagnostic_set_id", self.diagnostic_set_id.describe()),
            ("condition", self.condition.describe()),
            ("message", message.unwrap_or(Value::Nothing)),
            ("addinfo", self.addinfo.describe()),
        ])
    }
}

impl Describe for AddInfo {
    fn describe(&self) -> Value {
        match self {
            Self::V2Addinfo(text) => text.describe(),
            Self::V3Addinfo(text) => text.describe(),
        }
    }
}

impl Describe for AttributeList {
    fn describe(&self) -> Value {
        self.0.describe()
    }
}

impl Describe for AttributeElement {
    fn describe(&self) -> Value {
        Value::group([
            ("attribute_set", self.attribute_set.describe()),
            ("attribute_type", self.attribute_type.describe()),
            ("attribute_value", self.attribute_value.describe()),
        ])
    }
}

impl Describe for AttributeValue {
    fn describe(&self) -> Value {
        match self {
            Self::Numeric(number) => number.describe(),
            Self::Complex(complex) => Value::group([
                ("list", complex.list.describe()),
                ("semantic_action", complex.semantic_action.describe()),
            ]),
        }
    }
}

impl Describe for Query {
    /// By the name of its type; RPN as PQF.
    fn describe(&self) -> Value {
        let value = match self {
            Self::Type1(rpn) | Self::Type101(rpn) => Value::Text(rpn.to_string()),
            Self::Type0(value) => Value::Octets(value.to_bytes()),
            Self::Type2(octets) | Self::Type100(octets) | Self::Type102(octets) => {
                octets.describe()
            }
            Self::Type104(external) => external.describe(),
        };
        Value::Group(vec![(
            Cow::Owned(format!("type-{}", self.type_number())),
            value,
        )])
    }
}

impl Describe for CompSpec {
    fn describe(&self) -> Value {
        Value::group([
            (
                "select_alternative_syntax",
                self.select_alternative_syntax.describe(),
            ),
            ("generic", self.generic.describe()),
            ("db_specific", self.db_specific.describe()),
            ("record_syntax", self.record_syntax.describe()),
        ])
    }
}

impl Describe for DatabaseSpecification {
    fn describe(&self) -> Value {
        Value::group([("db", self.db.describe()), ("spec", self.spec.describe())])
    }
}

impl Describe for SortElement {
    fn describe(&self) -> Value {
        match self {
            Self::Generic(key) => Value::group([("generic", key.describe())]),
            Self::DatabaseSpecific(keys) => Value::group([("database_specific", keys.describe())]),
        }
    }
}

impl Describe for DatabaseSpecificSort {
    fn describe(&self) -> Value {
        Value::group([
            ("database_name", self.database_name.describe()),
            ("db_sort", self.db_sort.describe()),
        ])
    }
}

impl Describe for SortKey {
    fn describe(&self) -> Value {
        match self {
            Self::SortField(name) => Value::group([("sort_field", name.describe())]),
            Self::ElementSpec(spec) => Value::group([("element_spec", spec.describe())]),
            Self::SortAttributes(attributes) => {
                Value::group([("sort_attributes", attributes.describe())])
            }
        }
    }
}

impl Describe for SortAttributes {
    fn describe(&self) -> Value {
        Value::group([("id", self.id.describe()), ("list", self.list.describe())])
    }
}
