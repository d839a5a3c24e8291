//! Tests of targets as text, and of credentials, which must not appear in messages.

use super::*;

#[test]
fn targets_are_read_as_yaz_reads_them() {
    for (text, shown) in [
        ("lib.example", "lib.example:210"),
        ("LIB.example:2100", "lib.example:2100"),
        ("lib.example:2100/books+maps", "lib.example:2100/books+maps"),
        ("lib.example/books", "lib.example:210/books"),
        ("tcp:lib.example/a/b", "lib.example:210/a/b"),
        ("ssl:lib.example:9999/books", "ssl:lib.example:9999/books"),
        // z3950d writes the names of its listeners in this form.
        ("tls:lib.example:9999/books", "ssl:lib.example:9999/books"),
        ("[::1]:9/books", "[::1]:9/books"),
        ("192.0.2.1", "192.0.2.1:210"),
        ("@:2100", "localhost:2100"),
        ("unix:/run/z3950", "unix:/run/z3950"),
        ("unix:/run/z3950:books+maps", "unix:/run/z3950:books+maps"),
        (
            "z39.50s://lib.example/books+maps",
            "lib.example:210/books+maps",
        ),
        (
            "z39.50r://lib.example:2100/books?id7;rs=marc",
            "lib.example:2100/books",
        ),
        ("Z39.50S://lib.example", "lib.example:210"),
        (
            "connect:proxy.example:3128,ssl:lib.example/b",
            "ssl:lib.example:210/b",
        ),
        ("", "the target is empty"),
        (
            "tcp://lib.example",
            "write tcp://lib.example without the slashes after the colon",
        ),
        ("http://lib.example/sru/dnb", "http://lib.example/sru/dnb"),
        ("HTTP://LIB.example:80", "http://lib.example"),
        (
            "https://lib.example:8443/a+b",
            "https://lib.example:8443/a+b",
        ),
        ("sru:http://[::1]:9/x", "http://[::1]:9/x"),
        ("sru:SOAP:https://lib.example/x", "https://lib.example/x"),
        (
            "http://lib.example/x?db=1&&y",
            "http://lib.example/x?db=1&y",
        ),
        ("http://u:secret@lib.example/x", "http://lib.example/x"),
        (
            "http://u:se cret@lib.example/x",
            "http://<redacted>@lib.example/x is not a target",
        ),
        (
            "http://lib.example/x?Operation=searchRetrieve&query=a&db=1",
            "write http://lib.example/x?db=1, without Operation, query: these belong to a request; a command takes the query, a \
             profile the version, the method and the schema",
        ),
        (
            "http://u:secret@lib.example?x-password=secret",
            "write http://lib.example, without x-password: these belong to a request; a command takes the query, a profile the \
             version, the method and the schema",
        ),
        (
            "http://u:secret@lib.example/x?db=1#top",
            "write http://lib.example/x?db=1, without the part after #, which is never sent",
        ),
        (
            "sru:lib.example",
            "an address of SRU is written http://host/database, or sru:post:http://host/database",
        ),
        (
            "sru:put:http://lib.example",
            "put:http: is not a scheme of targets: they begin with z39.50s://, tcp:, ssl:, unix:, http:// or https://, or with a host",
        ),
        (
            "connect:proxy.example:3128,sru:post:https://lib.example/b",
            "https://lib.example/b",
        ),
        (
            "connect:proxy.example",
            "a connect: target is written connect:proxy:port,target",
        ),
        (
            "z3950s://lib.example/",
            "z3950s: is not a scheme of targets: they begin with z39.50s://, tcp:, ssl:, unix:, http:// or https://, or with a host",
        ),
        ("lib.example:x", "lib.example:x is not a target"),
        ("lib example", "lib example is not a target"),
    ] {
        let found = text
            .parse::<Target>()
            .map_or_else(|error| error.to_string(), |target| target.to_string());
        assert_eq!(found, shown, "{text}");
    }
    for text in [
        "http://u:p%40w@lib.example/b",
        "z39.50s://u:p%40w@lib.example/b",
    ] {
        let userinfo = text.parse::<Target>().expect(text).userinfo;
        let userinfo = userinfo.expect("user and password");
        assert_eq!(userinfo.user().as_str(), Some("u"));
        let password = userinfo.password().and_then(|password| password.as_str());
        assert_eq!(password, Some("p@w"));
    }
    let leaking = "u:secret@lib.example/b".parse::<Target>();
    assert_eq!(
        leaking.expect_err("no target").to_string(),
        "<redacted>@lib.example/b is not a target"
    );
    let through: Target = "connect:u:p@proxy.example,lib.example"
        .parse()
        .expect("a target");
    assert_eq!(through.proxy.as_deref(), Some("u:p@proxy.example"));
}

#[test]
fn audit_d18_messages_never_show_credentials() {
    for (text, shown) in [
        ("u:pw@h/db", "<redacted>@h/db"),
        ("u@h:210/db", "<redacted>@h:210/db"),
        ("ssl:u:pw@h:9/db", "ssl:<redacted>@h:9/db"),
        ("tcp://u:pw@h", "tcp://<redacted>@h"),
        ("z39.50s://u:p@w@h/db?x@y", "z39.50s://<redacted>@h/db?x@y"),
        ("u:p/w@h/db", "<redacted>@h/db"),
        (
            "connect:u:pw@p.example:80,u2:pw2@h/db",
            "connect:<redacted>@p.example:80,<redacted>@h/db",
        ),
        ("connect:u:pw@p.example", "connect:<redacted>@p.example"),
        ("@:2100/db", "@:2100/db"),
        ("unix:/run/a@b", "unix:/run/a@b"),
        ("127.0.0.1:9710/union@zeb", "127.0.0.1:9710/union@zeb"),
        (
            "ssl:lib.example:210/union@a:1/b",
            "ssl:lib.example:210/union@a:1/b",
        ),
        ("[::1]:210/union@zeb", "[::1]:210/union@zeb"),
        ("http://localhost:80/u@z", "http://localhost:80/u@z"),
        ("u.v:pw/x@lib.example/b", "<redacted>@lib.example/b"),
        ("u.v:99999/x@lib.example/b", "<redacted>@lib.example/b"),
        // The text before the `@` is hidden even if it names a database, because it may be part of a password.
        ("h:210/db@x", "<redacted>@x"),
        ("[::1]/db@x", "<redacted>@x"),
        ("h/db", "h/db"),
        ("z39.50r:/u:pw@h:9/d?x", "z39.50r:/<redacted>@h:9/d?x"),
        ("z39.50r:u:pw@h:9/d?x", "z39.50r:<redacted>@h:9/d?x"),
        (r"z39.50r:\\u:pw@h/d", r"z39.50r:\\<redacted>@h/d"),
        ("z39.50r:///u:pw@h/d", "z39.50r:///<redacted>@h/d"),
        ("z39.50r//u:pw@h/d", "z39.50r//<redacted>@h/d"),
        ("z39.50r://u:pw/@h/d?x", "z39.50r://<redacted>@h/d?x"),
        ("z39.50r://u:1/w@h/d?x", "z39.50r://<redacted>@h/d?x"),
        ("z39.50r://u:p@w/x@h/d?x@y", "z39.50r://<redacted>@h/d?x@y"),
        ("z39.50r://u:p?w/x@h/d", "z39.50r://<redacted>@h/d"),
        ("z39.50r://h:9/d?x@y", "z39.50r://h:9/d?x@y"),
        ("<URL:z39.50r://u:pw@h/d>", "<URL:z39.50r://<redacted>@h/d>"),
        ("//u:pw@h/d", "//<redacted>@h/d"),
        ("u:pw//x@h/d", "<redacted>@h/d"),
        ("unix:u:pw@/x", "unix:<redacted>@/x"),
        ("unix:/run/a:b@c", "unix:/run/a:b@c"),
        ("u/pw@h", "<redacted>@h"),
        ("mailto:u@h", "mailto:u@h"),
    ] {
        assert_eq!(redacted(text), shown, "{text}");
    }
}
