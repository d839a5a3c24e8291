//! The orders in which the records in a list can be sorted.

use z3950::SortKey;
use z3950_asn1::apdu::SortKeySpec;
use z3950_asn1::bib1::attributes::{USE_AUTHOR, USE_DATE_OF_PUBLICATION, USE_TITLE};

/// An order for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListOrder {
    Title,
    Author,
    Newest,
    Oldest,
}

impl ListOrder {
    pub(super) const ALL: [Self; 4] = [Self::Title, Self::Author, Self::Newest, Self::Oldest];

    /// Returns the order with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// Returns the name in the parameter `sort`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Author => "author",
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }

    /// Returns the title of the order on the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Author => "author",
            Self::Newest => "newest first",
            Self::Oldest => "oldest first",
        }
    }

    /// Returns the keys of a Sort request for this order.
    pub(super) fn keys(self) -> Vec<SortKeySpec> {
        let key = match self {
            Self::Title => "title",
            Self::Author => "author",
            Self::Newest => "date:desc",
            Self::Oldest => "date:asc",
        };
        let key = key.parse::<SortKey>();
        key.map(SortKeySpec::from).into_iter().collect()
    }

    /// Returns the Bib-1 Use value of the index by which the keys sort.
    pub(super) fn use_value(self) -> i64 {
        match self {
            Self::Title => USE_TITLE,
            Self::Author => USE_AUTHOR,
            Self::Newest | Self::Oldest => USE_DATE_OF_PUBLICATION,
        }
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::{SortElement, SortKey};

    use super::ListOrder;

    #[test]
    fn every_order_has_a_key() {
        for order in ListOrder::ALL {
            assert_eq!(ListOrder::named(order.name()), Some(order));
            let keys = order.keys();
            let [key] = &*keys else {
                panic!("{order:?}: {keys:?}")
            };
            let SortElement::Generic(SortKey::SortAttributes(by)) = &key.sort_element else {
                panic!("{order:?}: {key:?}")
            };
            let of_use = format!("{:?}", by.list.0[0].attribute_value);
            assert_eq!(of_use, format!("Numeric({})", order.use_value()));
        }
        assert_eq!(ListOrder::named("year"), None);
    }
}
