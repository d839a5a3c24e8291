//! Tests of `z3950d FILE` and of users with hashed passwords.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use z3950_marc::Form;
use z3950_marc::mrk;
use z3950_tests::program::{Daemon, Ran, path, run, z3950};
use z3950_tests::surroundings::command;

const TWO: &str = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aOne\n\n=LDR  00000nam a2200000 a 4500\n=001  b2\n=245  00$aTwo\n";

/// Runs `z3950d`, which must end without being stopped, with this text on standard input.
fn z3950d(arguments: &[&str], input: &str) -> Ran {
    run(command(path("z3950d")).args(arguments), input)
}

fn get(address: SocketAddr, rest: &str) -> Option<i32> {
    z3950(["get", &format!("z39.50r://{address}/{rest}")]).code
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Writes two records to a file in each format and to a folder, and returns the paths.
fn write_files(folder: &Path) -> Vec<PathBuf> {
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
        let path = folder.join(name);
        fs::write(&path, octets).expect("written");
        paths.push(path);
    }
    let several = folder.join("several.d");
    fs::create_dir(&several).expect("a folder");
    for (name, prefix) in [("a.mrk", "=001  a"), ("b.mrk", "=001  b")] {
        fs::write(several.join(name), TWO.replace("=001  b", prefix)).expect("written");
    }
    paths.push(several);
    paths
}

#[test]
fn r_f15_files_are_served_by_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = write_files(folder.path());
    let daemon = Daemon::start(&paths);
    for (rest, code) in [
        ("cat?b1", 0),
        ("maps?b2", 0),
        ("Old%20books?b1", 0),
        ("news?b1", 0),
        ("scores.v2?b2", 0),
        ("several.d?a1", 0),
        ("several.d?b2", 0),
        ("a?a1", 5),
        ("cat.mrc?b1", 5),
    ] {
        assert_eq!(get(daemon.address(), rest), Some(code), "{rest}");
    }
    let checked = z3950d(&["--check", text(&paths[0])], "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.stderr.contains("database cat: "), "{checked:?}");
    // The demo, files with a database name and files without one are served together, and a file without a database name can be
    // saved.
    let named = format!("x={}", text(&paths[1]));
    let saved = folder.path().join("saved.mrc");
    let save = format!("cat={}", text(&saved));
    let daemon = Daemon::start([
        "--demo",
        text(&paths[0]),
        "--database",
        &named,
        "--save",
        &save,
    ]);
    for rest in ["cat?b1", "x?b2", "books?pg1342"] {
        assert_eq!(get(daemon.address(), rest), Some(0), "{rest}");
    }
    assert!(saved.exists());
}

#[test]
fn r_f15_files_that_cannot_be_served_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        text(&path).to_owned()
    };
    let odd = file("a+b.mrk", TWO);
    let rubbish = file("no.mrc", "nothing of a record");
    let (one, same) = (file("good.mrk", TWO), file("GOOD.mrc", TWO));
    let missing = folder.path().join("missing.mrc");
    let named = format!("good={same}");
    let both = format!("{one} and {same} would both be the database good");
    for (arguments, words) in [
        (
            &[&*odd][..],
            "does not have the name of a database: give --database NAME=PATH",
        ),
        (&["-"], "not read from standard input"),
        (
            &["nosuchcommand"],
            "there is no command and no file nosuchcommand",
        ),
        (&[text(&missing)], "cannot load database missing"),
        (&[&rubbish], "cannot load database no "),
        (&[&one, &same], &both),
        (
            &[&one, "--database", &named],
            "would both be the database good",
        ),
        (&["--fold", &one, &one], "--fold works on its file alone"),
        (
            &["--imitate", "yaz-ztest", &one],
            "answer without databases",
        ),
        (
            &[&file("search.mrc", TWO)],
            "no database may be named search",
        ),
    ] {
        let ran = z3950d(&[arguments, &["--listen", "127.0.0.1:0"]].concat(), "");
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

/// Returns the hash that `hash-password` prints.
fn hash(password: &str) -> String {
    let ran = z3950d(&["hash-password"], &format!("{password}\n"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let hash = ran.stdout.trim_end().to_owned();
    assert!(
        hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
        "{hash}"
    );
    hash
}

/// Sends an HTTP request, and returns the status of the answer.
fn status(address: SocketAddr, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("listening");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let status = answer.split(' ').nth(1);
    status.unwrap_or_default().to_owned()
}

/// The `Authorization` header field for `ann:secret`.
const RIGHT: &str = "Authorization: Basic YW5uOnNlY3JldA==\r\n";
const WRONG: &str = "Authorization: Basic YW5uOndyb25n\r\n";

#[test]
fn r_f15_users_have_hashed_passwords() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("z3950d.toml");
    let (ann, bob) = (hash("secret"), hash("se cret\u{e9}"));
    let users = format!(
        "demo = true\n[limits]\npassword-checks = 1\nrefusal-delay = \"0s\"\n\
         [[access.user]]\nname = \"ann\"\npassword-hash = \"{ann}\"\n\
         [[access.user]]\nname = \"bob\"\npassword-hash = \"{bob}\"\n\
         [[access.user]]\nname = \"cat\"\npassword = \"plain\"\n"
    );
    fs::write(&settings, &users).expect("written");
    let start = || Daemon::start(["--config", text(&settings)]);
    let daemon = start();
    let target = format!("{}/books", daemon.address());
    for (user, password, code) in [
        ("ann", "secret", 0),
        ("bob", "se cret\u{e9}", 0),
        ("cat", "plain", 0),
        ("ann", "secret", 0),
        ("ann", "Secret", 5),
        ("bob", "secret", 5),
        ("cat", "secret", 5),
        ("eve", "secret", 5),
        // The hash itself is not accepted as a password.
        ("ann", &ann, 5),
    ] {
        let search = ["search", &target, "ti:war", "--count", "0", "--user", user];
        let mut command = command(path("z3950"));
        command.args(search).args(["--password-env", "SECRET"]);
        let ran = run(command.env("SECRET", password), "");
        assert_eq!(ran.code, Some(code), "{user} {password}: {ran:?}");
    }
    // SRU, the web page and the gateway require the same password, even if the server has not verified any password yet.
    for path in [
        "/books?query=war",
        "/",
        "/search?q=emma",
        "/get?url=z39.50r://HERE/books%3Fpg1342",
    ] {
        let daemon = start();
        let path = path.replace("HERE", &daemon.address().to_string());
        let at = |headers: &str| status(daemon.address(), &path, headers);
        let found = [WRONG, RIGHT, RIGHT, WRONG, ""].map(at);
        assert_eq!(found, ["401", "200", "200", "401", "401"], "{path}");
    }
}

#[test]
fn r_f15_the_gateway_does_not_reveal_a_guessed_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("z3950d.toml");
    for password in [
        "password = \"secret\"".to_owned(),
        format!("password-hash = \"{}\"", hash("secret")),
    ] {
        let user = format!(
            "demo = true\n[limits]\nrefusal-delay = \"0s\"\n[gateway]\n[[access.user]]\nname = \"ann\"\n{password}\n"
        );
        fs::write(&settings, user).expect("written");
        let daemon = Daemon::start(["--config", text(&settings)]);
        let url = format!("/get?url=z39.50s://{}/nosuch", daemon.address());
        let at = |headers: &str| status(daemon.address(), &url, headers);
        let found = [RIGHT, WRONG, RIGHT, ""].map(at);
        assert_eq!(found, ["404", "401", "404", "303"], "{password}");
    }
}

#[test]
fn r_f15_hashes_that_cannot_be_used_are_refused_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("z3950d.toml");
    let hash = hash("secret");
    let costly = hash.replace("m=19456", "m=9999999");
    let wanted = "not an Argon2id hash, such as $argon2id$v=19$m=19456,t=2,p=1$… with salt and hash; z3950d hash-password makes one";
    for (lines, place, words) in [
        ("password-hash = \"secret\"", "4:17", wanted),
        ("password-hash = \"\"", "4:17", wanted),
        (
            &format!(
                "password-hash = \"{}\"",
                hash.replace("argon2id", "argon2i")
            ),
            "4:17",
            wanted,
        ),
        (
            &format!("password-hash = \"{}\"", &hash[..hash.len() - 50]),
            "4:17",
            wanted,
        ),
        ("password-hash = 7", "4:17", "password-hash is not a text"),
        (
            &format!("password-hash = \"{costly}\""),
            "4:17",
            "m=9999999,t=2: m may be 262144, and m times t 1048576",
        ),
        (
            &format!("password = \"x\"\npassword-hash = \"{hash}\""),
            "2:1",
            "password and password-hash exclude each other",
        ),
    ] {
        let text = format!("demo = true\n[[access.user]]\nname = \"ann\"\n{lines}\n");
        fs::write(&settings, text).expect("written");
        let settings = settings.to_str().expect("UTF-8");
        for arguments in [&["--check"][..], &["--listen", "127.0.0.1:0"]] {
            let ran = z3950d(&[arguments, &["--config", settings]].concat(), "");
            assert_eq!(ran.code, Some(2), "{lines}: {ran:?}");
            let place = format!("{settings}:{place}: [[access.user]] ");
            assert!(ran.stderr.contains(&place), "{lines}: {ran:?}");
            assert!(ran.stderr.contains(words), "{lines}: {ran:?}");
            let salt = hash.split('$').nth(4).expect("a salt");
            assert!(!ran.stderr.contains(salt), "a hash is never shown: {ran:?}");
        }
    }
}

#[test]
fn r_f15_passwords_that_cannot_be_hashed_are_refused() {
    for (input, words) in [
        ("", "there is no password"),
        ("\n", "there is no password"),
        (&"x".repeat(5_000), "longer than 4096 octets"),
    ] {
        let ran = z3950d(&["hash-password"], input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    // A password on the command line is refused, because other users could see it.
    let ran = z3950d(&["hash-password", "secret"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert_ne!(
        hash("secret"),
        hash("secret"),
        "each hash has a salt of its own"
    );
}
