//! The text form of `facetLimit` (OASIS searchRetrieve 1.0, part 3, "Facets"): `10`, `5:title`, `10,5:title,3:author`.

use std::fmt;

use super::{SruCondition, SruDiagnostic};

/// The maximum number of indexes that are accepted in one `facetLimit`.
pub const MAX_FACETS: usize = 64;

/// The number of terms to return as facets, in general and for each named index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetLimit {
    /// The number of terms for indexes that the server chooses.
    pub general: Option<u64>,
    /// The number of terms for each named index.
    pub indexes: Vec<(String, u64)>,
}

impl FacetLimit {
    /// Parses the parameter. In each part, the number may come before or after the index.
    ///
    /// # Errors
    /// A diagnostic for a part without a number, or for more than [`MAX_FACETS`] parts.
    pub fn parse(text: &str) -> Result<Self, SruDiagnostic> {
        let refused = |message: String| {
            let one = SruDiagnostic::new(SruCondition::PARAMETER_VALUE, "facetLimit");
            Err(one.with_message(message))
        };
        let mut limit = Self::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            if limit.indexes.len() == MAX_FACETS {
                return refused(format!("more than {MAX_FACETS} facets"));
            }
            match (part.parse(), part.split_once(':'), part.rsplit_once(':')) {
                (Ok(number), ..) => limit.general = Some(number),
                (_, Some((number, index)), Some((other_index, other_number))) => {
                    let found = number.trim().parse().map(|number| (index, number));
                    let other = || {
                        other_number
                            .trim()
                            .parse()
                            .map(|number| (other_index, number))
                    };
                    match found.or_else(|_| other()) {
                        Ok((index, number)) => limit.indexes.push((index.trim().into(), number)),
                        Err(_) => return refused(format!("no number in {part:?}")),
                    }
                }
                _ => return refused(format!("no number in {part:?}")),
            }
        }
        Ok(limit)
    }
}

impl fmt::Display for FacetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let general = self.general.map(|number| number.to_string());
        let indexes = self
            .indexes
            .iter()
            .map(|(index, number)| format!("{number}:{index}"));
        let parts: Vec<String> = general.into_iter().chain(indexes).collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_written() {
        for (text, written) in [
            ("", ""),
            ("10", "10"),
            ("2:title,3:author", "2:title,3:author"),
            ("10, 5:dc.title,", "10,5:dc.title"),
            ("title:5", "5:title"),
        ] {
            let limit = FacetLimit::parse(text).expect(text);
            assert_eq!(limit.to_string(), written);
        }
    }

    #[test]
    fn faulty_limits_are_refused() {
        for (text, message) in [
            ("title", "no number in \"title\""),
            ("-1", "no number in \"-1\""),
            ("a:b", "no number in \"a:b\""),
        ] {
            let diagnostic = FacetLimit::parse(text).expect_err(text);
            assert_eq!(diagnostic.details, "facetLimit");
            assert_eq!(diagnostic.words(), message);
        }
        let parts = |count| FacetLimit::parse(&"1:a,".repeat(count)).is_ok();
        assert!(parts(MAX_FACETS));
        assert!(!parts(MAX_FACETS + 1));
    }
}
