//! The objects of `z3950 url parse` for schemes other than Z39.50.

use serde_json::{Map, Value, json};
use z3950::url::{Caution, FileHost, Locator, NewsUrl, Octets, UriKind, Url, Userinfo, WaisTarget};

/// The object: `scheme`, `kind`, `host` and `port`, then the scheme's own keys, all always present, then `fragment`, `warnings`
/// and `canonical`. A password shows as `***`.
pub(super) fn object(locator: &Locator) -> Value {
    let kind = match locator.kind() {
        UriKind::Name => "name",
        UriKind::Locator | UriKind::Neither => "other",
    };
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("scheme", locator.scheme().into());
    put("kind", kind.into());
    put("host", locator.host().map(ToString::to_string).into());
    put("port", locator.port().into());
    for (key, value) in fields(locator) {
        put(key, value);
    }
    let warnings: Vec<String> = locator.cautions().iter().map(Caution::code).collect();
    put("fragment", locator.fragment().map(text).into());
    put("warnings", warnings.into());
    put("canonical", locator.canonical().into());
    Value::Object(object)
}

fn fields(locator: &Locator) -> Vec<(&'static str, Value)> {
    match locator.url() {
        Url::Gopher(url) => vec![
            ("type", url.item_type().as_char().to_string().into()),
            ("selector", text(url.selector()).into()),
            ("search", url.search().map(text).into()),
            (
                "gopher_plus",
                url.plus().map(|plus| text(plus.octets())).into(),
            ),
        ],
        Url::Ftp(url) => {
            let path = url.path.as_ref();
            let code = path.and_then(|path| path.type_code);
            let mut fields = login(url.login.userinfo.as_ref());
            fields.extend([
                (
                    "directories",
                    path.map(|path| list(&path.directories)).into(),
                ),
                ("name", path.map(|path| text(&path.name)).into()),
                ("type", code.map(|code| code.letter().to_string()).into()),
            ]);
            fields
        }
        Url::Http(url) => web(url.path().as_str(), url.search().map(ToString::to_string)),
        Url::Https(url) => web(url.path().as_str(), url.search().map(ToString::to_string)),
        Url::Mailto(url) => vec![("address", text(url.address()).into())],
        Url::News(url) => {
            let (group, article) = match url {
                NewsUrl::All => (Some("*".to_owned()), None),
                NewsUrl::Group(group) => (Some(group.to_string()), None),
                NewsUrl::Article(article) => (None, Some(text(&article.octets()))),
            };
            vec![("group", group.into()), ("article", article.into())]
        }
        Url::Nntp(url) => vec![
            ("group", url.group.as_str().into()),
            ("number", url.number.into()),
        ],
        Url::Telnet(url) => login(url.login.userinfo.as_ref()),
        Url::Rlogin(url) => login(url.login.userinfo.as_ref()),
        Url::Tn3270(url) => login(url.login.userinfo.as_ref()),
        Url::Wais(url) => {
            let (search, document) = match url.target() {
                WaisTarget::Database => (None, None),
                WaisTarget::Search(search) => (Some(search), None),
                WaisTarget::Document { wtype, wpath } => (None, Some((wtype, wpath))),
            };
            vec![
                ("database", text(url.database()).into()),
                ("search", search.map(text).into()),
                ("wtype", document.map(|(wtype, _)| text(wtype)).into()),
                ("wpath", document.map(|(_, wpath)| text(wpath)).into()),
            ]
        }
        Url::File(url) => vec![
            ("local", (*url.host() == FileHost::Local).into()),
            ("path", list(url.segments()).into()),
        ],
        Url::Prospero(url) => {
            let fields = url.fields().iter();
            let field = fields.map(|field| json!([text(field.name()), text(field.value())]));
            vec![
                ("hsoname", text(&url.hsoname()).into()),
                ("version", url.version().map(text).into()),
                ("fields", field.collect()),
            ]
        }
        Url::MessageId(id) | Url::ContentId(id) => vec![("id", text(&id.octets()).into())],
        Url::Name(uri) | Url::Other(uri) => {
            let shown = uri.to_string();
            let part = shown.split_once(':').map(|(_, part)| part.to_owned());
            vec![("part", part.into())]
        }
        _ => Vec::new(),
    }
}

fn login(userinfo: Option<&Userinfo>) -> Vec<(&'static str, Value)> {
    let password = userinfo.and_then(Userinfo::password);
    vec![
        (
            "user",
            userinfo.map(|userinfo| text(userinfo.user())).into(),
        ),
        ("password", password.map(|_| "***").into()),
    ]
}

fn web(path: &str, search: Option<String>) -> Vec<(&'static str, Value)> {
    vec![("path", path.into()), ("search", search.into())]
}

fn text(octets: &Octets) -> String {
    octets.to_string()
}

fn list(items: &[Octets]) -> Vec<String> {
    items.iter().map(text).collect()
}
