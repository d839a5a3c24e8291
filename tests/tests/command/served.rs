//! Tests of `z3950d FILE` and of users with hashed passwords.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use z3950_marc::Form;
use z3950_marc::mrk;
use z3950_tests::program::{Daemon, Ran, path, run, z3950};
use z3950_tests::surroundings::command;

const TWO: &str = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n\n=LDR  00000nam a2200000 a 4500\n=001  b2\n=245  00$aTwo\n";

/// Runs `z3950d`, which must end by itself, with this text on standard input.
fn z3950d(arguments: &[&str], input: &str) -> Ran {
    run(command(path("z3950d")).args(arguments), input)
}

fn get(address: SocketAddr, rest: &str) -> Option<i32> {
    z3950(["get", &format!("z39.50r://{address}/{rest}")]).code
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn r_f15_files_are_served_by_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = mrk::parse_all(TWO).expect("records");
    let mut paths = Vec::new();
    for (name, form) in [
        ("cat.mrc", Form::Marc),
        ("maps.xml", Form::MarcXml),
        ("Old books.json", Form::Json),
        ("news.mrk", Form::Mrk),
        ("scores.v2.txt", Form::Line),
    ] {
        let mut octets = form.begin().as_bytes().to_vec();
        for record in &records {
            form.write(record, &mut octets).expect("fits");
        }
        octets.extend(form.end().as_bytes());
        let path = folder.path().join(name);
        fs::write(&path, octets).expect("written");
        paths.push(path);
    }
    let several = folder.path().join("several");
    fs::create_dir(&several).expect("a folder");
    fs::write(several.join("a.mrk"), TWO).expect("written");
    // Files of the same name are one database.
    let more = several.join("cat.mrk");
    fs::write(&more, TWO.replace("=001  b", "=001  c")).expect("written");
    paths.extend([several, more]);
    let daemon = Daemon::start(&paths);
    let at = |rest: &str| get(daemon.address(), rest);
    for found in [
        "cat?b1",
        "cat?c2",
        "maps?b2",
        "Old%20books?b1",
        "news?b1",
        "scores.v2?b2",
        "several?b1",
    ] {
        assert_eq!(at(found), Some(0), "{found}");
    }
    assert_eq!((at("a?b1"), at("cat.mrc?b1")), (Some(5), Some(5)));
    let checked = z3950d(&["--check", text(&paths[0])], "");
    assert!(
        checked.code == Some(0) && checked.stderr.contains("database cat: "),
        "{checked:?}"
    );
    // With other options, too.
    let named = format!("x={}", text(&paths[1]));
    let daemon = Daemon::start(["--demo", text(&paths[0]), "--database", &named]);
    for found in ["cat?b1", "x?b2", "books?pg1342"] {
        assert_eq!(get(daemon.address(), found), Some(0), "{found}");
    }
}

#[test]
fn r_f15_files_that_cannot_be_served_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a+b.mrk"), TWO).expect("written");
    fs::write(path("empty.mrc"), "").expect("written");
    fs::write(path("no.mrc"), "nothing of a record").expect("written");
    fs::write(path("good.mrk"), TWO).expect("written");
    let odd = path("a+b.mrk");
    let listen = ["--listen", "127.0.0.1:0"];
    for (arguments, words) in [
        (&[text(&odd)][..], "its name cannot be that of a database; give --database NAME=PATH"),
        (&["-"], "not from standard input"),
        (&[text(&path("missing.mrc"))], "cannot load database missing"),
        (&[text(&path("no.mrc"))], "cannot load database no"),
        (&["nosuchcommand"], "nosuchcommand"),
        (&["--fold", text(&path("good.mrk")), text(&path("good.mrk"))], "--fold works on its file alone"),
        (&["--imitate", "yaz-ztest", text(&path("good.mrk"))], "answer without databases"),
    ] {
        let ran = z3950d(&[arguments, &listen].concat(), "");
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
}

/// Returns the hash that `--hash-password` prints.
fn hash(password: &str) -> String {
    let ran = z3950d(&["--hash-password"], &format!("{password}\n"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let hash = ran.stdout.trim_end().to_owned();
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    hash
}

/// Sends a request of HTTP with these headers; returns the answer's first line.
fn status(address: SocketAddr, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("listening");
    let request = format!("GET /books?query=war HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn r_f15_users_have_hashed_passwords() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("z3950d.toml");
    let (ann, bob) = (hash("secret"), hash("se cret\u{e9}"));
    let users = format!(
        "demo = true\n[limits]\npassword-checks = 1\n[[access.user]]\nname = \"ann\"\npassword-hash = \"{ann}\"\n\
         [[access.user]]\nname = \"bob\"\npassword-hash = \"{bob}\"\n[[access.user]]\nname = \"cat\"\npassword = \"plain\"\n"
    );
    fs::write(&settings, &users).expect("written");
    let daemon = Daemon::start(["--config", text(&settings)]);
    let search = |user: &str, password: &str| {
        let target = format!("{}/books", daemon.address());
        let program = path("z3950");
        let mut command = command(program);
        command
            .args(["search", &target, "ti:war", "--count", "0", "--user", user, "--password-env", "SECRET"])
            .env("SECRET", password);
        run(&mut command, "")
    };
    for (user, password, code) in [
        ("ann", "secret", 0),
        ("bob", "se cret\u{e9}", 0),
        ("cat", "plain", 0),
        ("ann", "secret", 0),
        ("ann", "Secret", 5),
        ("bob", "secret", 5),
        ("cat", "secret", 5),
        ("eve", "secret", 5),
        // The hash is not a password.
        ("ann", &ann, 5),
    ] {
        let ran = search(user, password);
        assert_eq!(ran.code, Some(code), "{user} {password}: {ran:?}");
    }
    // SRU asks the same, with every request.
    for (credentials, expected) in [
        ("Authorization: Basic YW5uOnNlY3JldA==\r\n", " 200 "),
        ("Authorization: Basic YW5uOnNlY3JldA==\r\n", " 200 "),
        ("Authorization: Basic YW5uOndyb25n\r\n", " 401 "),
        ("", " 401 "),
    ] {
        let line = status(daemon.address(), credentials);
        assert!(line.contains(expected), "{credentials}: {line}");
    }
    for (line, words) in [
        ("password-hash = \"secret\"", "not a hash of argon2id, argon2i or argon2d"),
        ("password-hash = 7", "password-hash is not a text"),
        (
            &format!("password-hash = \"{}\"", ann.replace("m=19456", "m=9999999")),
            "m is more than 1048576 KiB",
        ),
        (
            &format!("password = \"x\"\npassword-hash = \"{ann}\""),
            "password and password-hash are for the same; give one of them",
        ),
    ] {
        let text = format!("demo = true\n[[access.user]]\nname = \"ann\"\n{line}\n");
        fs::write(&settings, text).expect("written");
        let ran = z3950d(&["--check", "--config", settings.to_str().expect("text")], "");
        assert_eq!(ran.code, Some(2), "{line}: {ran:?}");
        assert!(ran.stderr.contains(words), "{line}: {ran:?}");
        assert!(!ran.stderr.contains("argon2id$v=19"), "a hash is never shown: {ran:?}");
    }
}

#[test]
fn r_f15_passwords_that_cannot_be_hashed_are_refused() {
    for (input, words) in [
        ("", "there is no password"),
        ("\n", "there is no password"),
        (&"x".repeat(5_000), "longer than 4096 octets"),
    ] {
        let ran = z3950d(&["--hash-password"], input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    assert_ne!(hash("secret"), hash("secret"), "each hash has a salt of its own");
}
