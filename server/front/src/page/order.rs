//! The orders in which the records of a list can be sorted.

use z3950::SortKey;
use z3950::asn1::apdu::SortKeySpec;

/// An order of a list.
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

    /// Returns the title on the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Author => "author",
            Self::Newest => "newest first",
            Self::Oldest => "oldest first",
        }
    }

    /// Returns the keys for Sort.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_a_key() {
        for order in ListOrder::ALL {
            assert_eq!(ListOrder::named(order.name()), Some(order));
            assert_eq!(order.keys().len(), 1, "{order:?}");
        }
        assert_eq!(ListOrder::named("year"), None);
    }
}
