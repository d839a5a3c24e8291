//! The search form, with the text that was typed and the databases to choose from.

use std::collections::HashSet;

use z3950::target::Target;
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::oid::BIB_1;
use z3950_server::backend::DatabaseInfo;
use z3950_server::web::WebClient;

use crate::text;

/// A database, or a part of one, that can be chosen.
pub(crate) struct DatabaseChoice {
    pub(crate) name: String,
    /// The title; for a part, without the title of the database.
    pub(crate) title: String,
    /// The addresses of the servers that hold the records; empty for records on this server.
    addresses: Vec<String>,
    pub(crate) is_chosen: bool,
}

/// A database with its parts.
pub(crate) struct ShownDatabase {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) records: String,
    pub(crate) is_merged: bool,
    /// The choice of the complete database; `None` if only its parts can be searched.
    pub(crate) whole: Option<DatabaseChoice>,
    pub(crate) parts: Vec<DatabaseChoice>,
    sorted: SortedBy,
}

/// The indexes that the records in a database can be sorted by.
enum SortedBy {
    /// The database does not list its indexes.
    Any,
    /// The database lists indexes with these Use values.
    Uses(Vec<i64>),
}

impl SortedBy {
    fn of(database: &DatabaseInfo) -> Self {
        let uses = database.attributes.iter();
        let mut uses = { uses.filter(|one| one.attribute_type == USE) }.peekable();
        if database.sort && uses.peek().is_none() {
            return Self::Any;
        }
        let sorted = uses.filter(|one| one.attribute_set == BIB_1 && database.sorts(one));
        Self::Uses(sorted.map(|one| one.value).collect())
    }

    fn has(&self, use_value: i64) -> bool {
        match self {
            Self::Any => true,
            Self::Uses(uses) => uses.contains(&use_value),
        }
    }
}

/// Which choices the form shows as ticked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticks {
    All,
    None,
}

impl ShownDatabase {
    fn of(database: DatabaseInfo) -> Self {
        let sorted = SortedBy::of(&database);
        let title = text::clean(database.title.as_deref().unwrap_or(&database.name));
        let records = match database.records {
            Some(1) => "1 record".to_owned(),
            Some(count) => format!("{count} records"),
            None => String::new(),
        };
        let mut parts: Vec<DatabaseChoice> = Vec::new();
        for part in database.parts {
            let target = text::part(&part.name);
            let title = part.title.as_deref().unwrap_or(target);
            let is_known = parts.iter().any(|known| known.title == title);
            let title = if is_known {
                format!("{title} ({target})")
            } else {
                title.to_owned()
            };
            parts.push(DatabaseChoice {
                title: text::clean(&title),
                addresses: part.address.into_iter().collect(),
                is_chosen: false,
                name: part.name,
            });
        }
        let of_parts = parts.iter().flat_map(|part| &part.addresses).cloned();
        let has_whole = database.is_merged || parts.is_empty();
        let whole = has_whole.then(|| DatabaseChoice {
            name: database.name.clone(),
            title: title.clone(),
            addresses: database.address.into_iter().chain(of_parts).collect(),
            is_chosen: false,
        });
        Self {
            name: database.name,
            title,
            description: text::clean(database.description.as_deref().unwrap_or_default()),
            records,
            is_merged: database.is_merged,
            whole,
            parts,
            sorted,
        }
    }

    /// Iterates over the choices: the complete database, and its parts.
    pub(crate) fn choices(&self) -> impl Iterator<Item = &DatabaseChoice> {
        self.whole.iter().chain(&self.parts)
    }

    pub(crate) fn has_chosen_part(&self) -> bool {
        self.parts.iter().any(|part| part.is_chosen)
    }

    /// Returns whether `name` is the name of the database. If only the parts can be chosen, the name is valid too,
    /// and means all parts.
    fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the title of the part with this name.
    fn part(&self, name: &str) -> Option<&str> {
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.name.eq_ignore_ascii_case(name))?;
        Some(&part.title)
    }
}

/// The databases of a server.
pub(crate) struct Catalogues(pub(crate) Vec<ShownDatabase>);

impl Catalogues {
    /// Lists all databases of the client's server, with nothing chosen.
    pub(crate) fn of(client: &WebClient) -> Self {
        let databases = client.databases().into_iter();
        Self(databases.map(ShownDatabase::of).collect())
    }

    /// Returns the title of a database or of a part; the title of a part follows the title of its database. An unknown name is
    /// returned unchanged.
    pub(crate) fn title(&self, name: &str) -> String {
        let of_database = |database: &ShownDatabase| {
            if database.is_named(name) {
                return Some(database.title.clone());
            }
            let title = database.part(name)?;
            Some(format!("{}: {title}", database.title))
        };
        let title = self.0.iter().find_map(of_database);
        title.unwrap_or_else(|| text::clean(name))
    }

    /// Returns the title of a part without the title of its database; for a complete database, the same as
    /// [`title`](Self::title).
    pub(crate) fn short_title(&self, name: &str) -> String {
        let part = self.0.iter().find_map(|database| database.part(name));
        part.map_or_else(|| self.title(name), str::to_owned)
    }

    /// Returns whether one of these databases can sort by the index with this Use value.
    pub(crate) fn sorts(&self, names: &[String], use_value: i64) -> bool {
        let is = |database: &&ShownDatabase, name: &String| {
            database.is_named(name) || database.part(name).is_some()
        };
        let mut databases =
            { names.iter() }.filter_map(|name| self.0.iter().find(|database| is(database, name)));
        databases.any(|database| database.sorted.has(use_value))
    }

    /// Returns whether there is a database or a part with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let mut databases = self.0.iter();
        databases.any(|database| database.is_named(name) || database.part(name).is_some())
    }

    /// Returns the name of the first choice whose records are at the server and database of a Z39.50 or SRU URL.
    pub(crate) fn at(&self, url: &str) -> Option<String> {
        let address = url.parse::<Target>().ok()?.to_string();
        let address = address.trim_end_matches('/');
        let is_there = |choice: &&DatabaseChoice| match &*choice.addresses {
            [only] => only.trim_end_matches('/').eq_ignore_ascii_case(address),
            _ => false,
        };
        let choice = self.choices().find(is_there)?;
        Some(choice.name.clone())
    }

    /// Returns whether the records of the database with this name are on this server.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        let mut choices = self.choices();
        choices.any(|choice| choice.addresses.is_empty() && choice.name.eq_ignore_ascii_case(name))
    }

    fn choices(&self) -> impl Iterator<Item = &DatabaseChoice> {
        self.0.iter().flat_map(ShownDatabase::choices)
    }

    /// Chooses the databases and parts with these names.
    fn choose(&mut self, names: &[String]) {
        for database in &mut self.0 {
            let is_named = names.iter().any(|name| database.is_named(name));
            let has_whole = database.whole.is_some();
            for part in &mut database.parts {
                let mut names = names.iter();
                part.is_chosen = is_named && !has_whole
                    || names.any(|name| part.name.eq_ignore_ascii_case(name));
            }
            if let Some(whole) = &mut database.whole {
                whole.is_chosen = is_named;
            }
        }
    }

    /// Chooses every source of records once: skips the parts of a database that is chosen itself, and databases whose addresses
    /// are all covered by earlier choices.
    fn choose_all(&mut self) {
        let mut known: HashSet<String> = HashSet::new();
        // Choose whole databases before parts of databases, because the records of a whole database are merged.
        let mut choices: Vec<&mut DatabaseChoice> = Vec::new();
        let mut parts = Vec::new();
        for database in &mut self.0 {
            let has_whole = database.whole.is_some();
            choices.extend(&mut database.whole);
            if !has_whole {
                parts.extend(&mut database.parts);
            }
        }
        choices.append(&mut parts);
        for choice in choices {
            let is_new = choice.addresses.iter().any(|one| !known.contains(one));
            choice.is_chosen = choice.addresses.is_empty() || is_new;
            if choice.is_chosen {
                known.extend(choice.addresses.iter().cloned());
            }
        }
    }
}

/// The form for a search.
pub(crate) struct SearchForm {
    pub(crate) query: String,
    pub(crate) catalogues: Catalogues,
    /// Whether to try alternative searches if a search finds nothing or is refused.
    pub(crate) has_fallback: bool,
    /// Whether only the best record for an identifier is wanted.
    pub(crate) has_best: bool,
    /// The name of the order of the records; empty for the order in which the databases return them.
    pub(crate) sort: &'static str,
    /// Whether the options are collapsed, because the page has something more important to show.
    pub(crate) is_folded: bool,
}

impl SearchForm {
    /// Creates the form with the text that was typed and the databases that were chosen. If none was chosen, every source of
    /// records is chosen once.
    pub(crate) fn new(
        client: &WebClient,
        query: &str,
        targets: &[String],
        ticks: Option<Ticks>,
    ) -> Self {
        let mut catalogues = Catalogues::of(client);
        match ticks {
            Some(Ticks::None) => {}
            Some(Ticks::All) => catalogues.choose_all(),
            None if targets.is_empty() => catalogues.choose_all(),
            None => catalogues.choose(targets),
        }
        Self {
            query: query.to_owned(),
            catalogues,
            has_fallback: false,
            has_best: false,
            sort: "",
            is_folded: false,
        }
    }

    /// Returns the names of the chosen databases, followed by those of `names` that the server does not know.
    pub(crate) fn targets(&self, names: &[String]) -> Vec<String> {
        let chosen = self
            .catalogues
            .choices()
            .filter(|choice| choice.is_chosen)
            .map(|choice| choice.name.clone());
        let unknown = names.iter().filter(|name| !self.catalogues.has(name));
        chosen.chain(unknown.cloned()).collect()
    }

    /// Returns the number of choices that are ticked.
    pub(crate) fn chosen(&self) -> usize {
        let choices = self.catalogues.choices();
        choices.filter(|choice| choice.is_chosen).count()
    }

    /// Returns the number of choices in the form.
    pub(crate) fn size(&self) -> usize {
        self.catalogues.choices().count()
    }
}

#[cfg(test)]
mod tests {
    use z3950_server::backend::{AttributeInfo, DatabasePart};

    use super::*;

    /// Returns a database with these parts, each passed as its name and its address.
    fn database(name: &str, is_merged: bool, parts: &[(&str, &str)]) -> DatabaseInfo {
        let mut database = DatabaseInfo::default();
        database.name = name.to_owned();
        database.is_merged = is_merged;
        let parts = parts.iter().map(|(name, address)| {
            let mut part = DatabasePart::new(*name);
            part.address = Some((*address).to_owned());
            part
        });
        database.parts = parts.collect();
        database
    }

    fn chosen(catalogues: &Catalogues) -> Vec<&str> {
        let chosen = catalogues.choices().filter(|choice| choice.is_chosen);
        chosen.map(|choice| choice.name.as_str()).collect()
    }

    #[test]
    fn audit_orders_are_those_that_a_database_has() {
        let sorting = |name: &str, sorted: Option<&[i64]>| {
            let mut database = database(name, false, &[]);
            database.sort = true;
            let of_title_and_date = [4, 31].map(|value| {
                let mut attribute = AttributeInfo::new(BIB_1, USE, value, "");
                attribute.sort = sorted.is_some_and(|sorted| sorted.contains(&value));
                attribute
            });
            database.attributes = Vec::from(of_title_and_date);
            if sorted.is_none() {
                database.attributes.clear();
            }
            database
        };
        let mut unsorted = sorting("unsorted", Some(&[4, 31]));
        unsorted.sort = false;
        let databases = [
            sorting("title", Some(&[4])),
            sorting("date", Some(&[31])),
            sorting("unknown", None),
            unsorted,
        ];
        let catalogues = Catalogues(databases.map(ShownDatabase::of).into());
        for (names, expected) in [
            (&["title"][..], (true, false)),
            (&["DATE"], (false, true)),
            (&["date", "title"], (true, true)),
            (&["unknown"], (true, true)),
            (&["unsorted"], (false, false)),
            (&["nothing"], (false, false)),
            (&[], (false, false)),
        ] {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let sorts = |value| catalogues.sorts(&names, value);
            assert_eq!((sorts(4), sorts(31)), expected, "{names:?}");
        }
    }

    #[test]
    fn every_catalogue_is_chosen_once() {
        let plain = [("plain@a", "a:210/x"), ("plain@b", "b:210/x")];
        let merged = [("merged@a", "a:210/x"), ("merged@c", "http://c/x")];
        let again = [("again@a", "a:210/x"), ("again@c", "http://c/x")];
        let databases = [
            database("plain", false, &plain),
            database("merged", true, &merged),
            database("again", true, &again),
            database("own", false, &[]),
        ];
        let databases = databases.map(ShownDatabase::of);
        let mut catalogues = Catalogues(databases.into());
        catalogues.choose_all();
        assert_eq!(chosen(&catalogues), ["plain@b", "merged", "own"]);
        for (name, expected) in [
            ("plain", &["plain@a", "plain@b"][..]),
            ("MERGED", &["merged"]),
            ("merged@c", &["merged@c"]),
            ("nothing", &[]),
        ] {
            catalogues.choose(&[name.to_owned()]);
            assert_eq!(chosen(&catalogues), expected, "{name}");
        }
        for (url, name) in [
            ("z39.50s://a/x", Some("plain@a")),
            ("http://c/x/", Some("merged@c")),
            ("z39.50s://a/y", None),
            ("http://d/x", None),
            ("war", None),
        ] {
            assert_eq!(catalogues.at(url).as_deref(), name, "{url}");
        }
    }
}
