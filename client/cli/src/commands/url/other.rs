//! The JSON objects that `z3950 url parse` prints for schemes other than Z39.50.

use serde_json::{Value, json};
use z3950::url::{Caution, Locator, NewsUrl, Octets, UriKind, Url, Userinfo, WaisTarget};

/// Returns the JSON object for a URL. Its keys are `scheme`, `kind`, `host` and `port`, then the scheme's own keys,
/// which are always present, and finally `fragment`, `warnings` and `canonical`. A password is shown as `***`.
pub(super) fn object(locator: &Locator) -> Value {
    let kind = match locator.kind() {
        UriKind::Name => "name",
        UriKind::Locator | UriKind::Neither => "other",
    };
    let begin = json!({
        "scheme": locator.scheme(),
        "kind": kind,
        "host": locator.host().map(ToString::to_string),
        "port": locator.port(),
    });
    let warnings: Vec<String> = locator.cautions().iter().map(Caution::code).collect();
    let end = json!({
        "fragment": locator.fragment().map(text),
        "warnings": warnings,
        "canonical": locator.canonical(),
    });
    let parts = [begin, fields(locator), end].into_iter();
    let keys = parts.filter_map(|part| match part {
        Value::Object(keys) => Some(keys),
        _ => None,
    });
    Value::Object(keys.flatten().collect())
}

fn fields(locator: &Locator) -> Value {
    match locator.url() {
        Url::Gopher(url) => json!({
            "type": url.item_type().as_char().to_string(),
            "selector": text(url.selector()),
            "search": url.search().map(text),
            "gopher_plus": url.plus().map(|plus| text(plus.octets())),
        }),
        Url::Ftp(url) => {
            let path = url.path.as_ref();
            let code = path.and_then(|path| path.type_code);
            let (user, password) = login(url.login.userinfo.as_ref());
            json!({
                "user": user,
                "password": password,
                "directories": path.map(|path| list(&path.directories)),
                "name": path.map(|path| text(&path.name)),
                "type": code.map(|code| code.letter().to_string()),
            })
        }
        Url::Http(url) => web(url.path().as_str(), url.search().map(ToString::to_string)),
        Url::Https(url) => web(url.path().as_str(), url.search().map(ToString::to_string)),
        Url::Mailto(url) => json!({ "address": text(url.address()) }),
        Url::News(url) => {
            let (group, article) = match url {
                NewsUrl::All => (Some("*".to_owned()), None),
                NewsUrl::Group(group) => (Some(group.to_string()), None),
                NewsUrl::Article(article) => (None, Some(text(&article.octets()))),
            };
            json!({ "group": group, "article": article })
        }
        Url::Nntp(url) => json!({ "group": url.group.as_str(), "number": url.number }),
        Url::Telnet(url) => terminal(url.login.userinfo.as_ref()),
        Url::Rlogin(url) => terminal(url.login.userinfo.as_ref()),
        Url::Tn3270(url) => terminal(url.login.userinfo.as_ref()),
        Url::Wais(url) => {
            let (search, document) = match url.target() {
                WaisTarget::Database => (None, None),
                WaisTarget::Search(search) => (Some(search), None),
                WaisTarget::Document { wtype, wpath } => (None, Some((wtype, wpath))),
            };
            json!({
                "database": text(url.database()),
                "search": search.map(ToString::to_string),
                "wtype": document.map(|(wtype, _)| text(wtype)),
                "wpath": document.map(|(_, wpath)| text(wpath)),
            })
        }
        Url::File(url) => {
            json!({ "local": url.host().is_none(), "path": list(url.segments()) })
        }
        Url::Prospero(url) => {
            let fields = url.fields().iter();
            let field = fields.map(|field| json!([text(field.name()), text(field.value())]));
            json!({
                "hsoname": text(&url.hsoname()),
                "version": url.version().map(text),
                "fields": field.collect::<Value>(),
            })
        }
        Url::MessageId(id) | Url::ContentId(id) => json!({ "id": text(&id.octets()) }),
        Url::Name(uri) | Url::Other(uri) => {
            let shown = uri.to_string();
            json!({ "part": shown.split_once(':').map(|(_, part)| part) })
        }
        _ => Value::Null,
    }
}

fn web(path: &str, search: Option<String>) -> Value {
    json!({ "path": path, "search": search })
}

fn terminal(userinfo: Option<&Userinfo>) -> Value {
    let (user, password) = login(userinfo);
    json!({ "user": user, "password": password })
}

/// Returns the user name, and `***` if there is a password.
fn login(userinfo: Option<&Userinfo>) -> (Option<String>, Option<&'static str>) {
    let password = userinfo.and_then(Userinfo::password);
    let user = userinfo.map(|userinfo| text(userinfo.user()));
    (user, password.map(|_| "***"))
}

fn text(octets: &Octets) -> String {
    octets.to_string()
}

fn list(items: &[Octets]) -> Vec<String> {
    items.iter().map(text).collect()
}
