//! The parameters of `/search`, as a form sends them.

/// What is searched for, where, and which part of it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    /// What was typed.
    pub(super) query: String,
    /// The databases to search; all if none is named.
    pub(super) targets: Vec<String>,
    /// The position of the first record of the list, from 1.
    pub(super) start: Option<u64>,
    /// The position of the record to show alone.
    pub(super) at: Option<u64>,
    /// The form of a download.
    pub(super) format: Option<String>,
}

/// Databases that one search may name.
pub(super) const MAX_TARGETS: usize = 64;
/// Octets of what is typed.
const MAX_QUERY: usize = 8192;

impl Parameters {
    /// Reads the query of a URL; parameters of other names are ignored.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn read(query: &str) -> Result<Self, String> {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "q" => value.trim().clone_into(&mut read.query),
                "target" => read.targets.push(value.into_owned()),
                "start" => read.start = Some(position(&value)?),
                "at" => read.at = Some(position(&value)?),
                "format" => read.format = Some(value.into_owned()),
                _ => {}
            }
        }
        if read.query.len() > MAX_QUERY {
            return Err(format!("What is searched for may have {MAX_QUERY} octets."));
        }
        if read.targets.len() > MAX_TARGETS {
            return Err(format!("One search may name {MAX_TARGETS} databases."));
        }
        Ok(read)
    }

    /// The path with parameters of a search in one database.
    pub(super) fn link(query: &str, target: &str, further: &[(&str, &str)]) -> String {
        let start = "/search?".to_owned();
        let length = start.len();
        let mut link = form_urlencoded::Serializer::for_suffix(start, length);
        link.append_pair("q", query).append_pair("target", target);
        link.extend_pairs(further);
        link.finish()
    }
}

fn position(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "A position is a number from 1.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_within_limits() {
        let read = Parameters::read("q=+war%26peace+&target=a&target=b%2F&start=11&other=1");
        let read = read.expect("sound");
        assert_eq!(read.query, "war&peace");
        assert_eq!(read.targets, ["a", "b/"]);
        assert_eq!((read.start, read.at), (Some(11), None));
        let link = Parameters::link("a&b", "c d", &[("at", "2")]);
        assert_eq!(link, "/search?q=a%26b&target=c+d&at=2");
        for (query, is_sound) in [
            (format!("q={}", "a".repeat(MAX_QUERY)), true),
            (format!("q={}", "a".repeat(MAX_QUERY + 1)), false),
            ("target=a&".repeat(MAX_TARGETS), true),
            ("target=a&".repeat(MAX_TARGETS + 1), false),
            ("start=0".to_owned(), false),
            ("at=x".to_owned(), false),
        ] {
            assert_eq!(Parameters::read(&query).is_ok(), is_sound, "{query}");
        }
    }
}
