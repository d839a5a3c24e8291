//! Tests with Gopher servers on loopback: gophernicus (text, menus, octets, searches) and pygopherd (Gopher+). If a server is not
//! installed, its tests are skipped with a message. Both servers send a text file unchanged, without a final dot.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use z3950_tests::peer;
use z3950_tests::program::{Ran, z3950};
use z3950_tests::surroundings::command;

/// Text with every kind of line that dot-stuffing would change.
const TEXT: &str = "Hello\n.hidden dot\n..two dots\n.\nend\n";

fn get(port: u16, path: &str, options: &[&str]) -> Ran {
    let url = format!("gopher://127.0.0.1:{port}/{path}");
    z3950(["get", url.as_str()].iter().chain(options))
}

fn json_of(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn gophernicus_gives_text_menus_octets_and_searches() {
    let octets: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let Some(server) = Inetd::gophernicus(&octets) else {
        return;
    };
    let port = server.port;
    let ran = get(port, "0/about.txt", &[]);
    assert_eq!(
        (ran.code, ran.stdout),
        (Some(0), TEXT.replace('\n', "\r\n")),
        "text"
    );
    let ran = get(port, "9/blob.bin", &[]);
    assert_eq!((ran.code, ran.octets), (Some(0), octets), "octets");

    let ran = get(port, "", &[]);
    let about = format!("gopher://localhost:{port}/0/about.txt");
    let line = ran.stdout.lines().find(|line| line.ends_with(&about));
    assert!(
        line.is_some_and(|line| line.starts_with("0 about.txt ")),
        "{ran:?}"
    );
    let menu = json_of(&get(port, "1/docs/", &["--format", "json"]));
    let items = menu["items"].as_array().expect("items");
    let inner = items
        .iter()
        .find(|item| item["selector"] == "/docs/inner.txt")
        .expect("the item");
    assert_eq!(
        (&inner["type"], &inner["port"], &inner["url"]),
        (
            &json!("0"),
            &json!(port),
            &json!(format!("gopher://localhost:{port}/0/docs/inner.txt"))
        )
    );
    assert!(
        items
            .iter()
            .any(|item| item["type"] == "i" && item["url"].is_null()),
        "{menu}"
    );

    for (path, options) in [
        ("7/cgi-bin/find%09cat%20dog", &[][..]),
        ("7/cgi-bin/find", &["--query", "cat dog"]),
    ] {
        let ran = get(port, path, options);
        assert!(
            ran.code == Some(0) && ran.stdout.contains("0 Found cat dog"),
            "{ran:?}"
        );
        assert!(
            ran.stdout.contains("http://lib.example/?a"),
            "the URL of an h item: {ran:?}"
        );
    }
    let ran = get(port, "7/cgi-bin/find", &[]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--query"),
        "{ran:?}"
    );

    let ran = get(port, "1/nosuch/", &[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let ran = get(port, "0/about.txt%09%09+", &[]);
    assert!(
        ran.code == Some(0) && ran.stderr.contains("Gopher+"),
        "{ran:?}"
    );
    assert_eq!(get(port, "0/about.txt%09%09!", &[]).code, Some(6));
}

#[test]
fn pygopherd_gives_attributes_and_views() {
    let Some(server) = Pygopherd::start() else {
        return;
    };
    let port = server.port;
    let item = json_of(&get(port, "0/about.txt%09%09!", &["--format", "json"]));
    let item = &item["items"][0];
    assert_eq!(
        item["item"]["url"],
        json!(format!("gopher://localhost:{port}/0/about.txt"))
    );
    assert_eq!(item["item"]["plus"], "+");
    assert_eq!(item["abstract"], "About this\nin two lines");
    assert_eq!(
        item["views"],
        json!([{ "format": "text/plain", "language": null, "size": "0k" }])
    );
    assert_eq!(
        item["questions"],
        json!([{ "kind": "line", "prompt": "Your name", "options": ["nobody"] }])
    );
    assert_eq!(
        item["blocks"]["+ADMIN"].as_array().map(Vec::len),
        Some(2),
        "{item}"
    );
    let all = json_of(&get(port, "1/%09%09$", &["--format", "json"]));
    let names = all["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["item"]["display"]);
    assert!(
        names.clone().any(|name| name == "about") && names.clone().any(|name| name == "docs"),
        "{all}"
    );

    for path in [
        "0/about.txt",
        "0/about.txt%09%09+",
        "0/about.txt%09%09+text/plain",
    ] {
        let ran = get(port, path, &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), TEXT, ""),
            "{path}"
        );
    }
    let ran = get(
        port,
        "0/about.txt%09%09+",
        &["--gopherplus-wire", "protocol", "--format", "raw"],
    );
    assert_eq!(ran.stdout, format!("+{}\r\n{TEXT}", TEXT.len()));
    let menu = json_of(&get(
        port,
        "1/%09%09+application/gopher+-menu",
        &["--format", "json"],
    ));
    assert_eq!(menu["kind"], "menu");

    let named = get(port, "0/about.txt%09%09!+VIEWS", &["--format", "json"]);
    assert!(named.stderr.contains("all were requested"), "{named:?}");
    let blocks = json_of(&named)["items"][0]["blocks"]
        .as_object()
        .map(|blocks| blocks.len());
    assert_eq!(blocks, Some(2), "+INFO and +VIEWS");

    for path in ["0/nosuch", "0/nosuch%09%09+", "0/nosuch%09%09!"] {
        let ran = get(port, path, &[]);
        assert!(
            ran.code == Some(3) && ran.stderr.contains("nosuch"),
            "{ran:?}"
        );
    }
    let ran = get(port, "0/about.txt%09%09?", &[]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("Your name [nobody]"),
        "{ran:?}"
    );

    let alive = format!("gopher://127.0.0.1:{port}/0/about.txt");
    let gone = format!("gopher://127.0.0.1:{port}/0/nosuch");
    let ran = z3950(["url", "check", "--follow", &alive, &gone]);
    let verdicts: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!((ran.code, verdicts), (Some(8), vec!["alive", "gone"]));
}

fn write(path: PathBuf, octets: impl AsRef<[u8]>, mode: u32) {
    fs::write(&path, octets).expect("the file is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its owner is this user");
}

fn directory(path: PathBuf) -> PathBuf {
    fs::create_dir_all(&path).expect("a directory");
    // The server may run as a different user, who must be able to read the folder.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its owner is this user");
    path
}

/// A server that runs a program for each connection, with the connection as its standard input and output. It is stopped when
/// this value is dropped.
struct Inetd {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _directory: TempDir,
}

impl Inetd {
    fn gophernicus(octets: &[u8]) -> Option<Self> {
        let program = peer::find("gophernicus")?;
        let home = tempfile::tempdir().expect("a directory");
        let root = directory(home.path().to_owned());
        write(root.join("about.txt"), TEXT, 0o644);
        write(root.join("blob.bin"), octets, 0o644);
        write(
            directory(root.join("docs")).join("inner.txt"),
            "inner\n",
            0o644,
        );
        write(
            directory(root.join("cgi-bin")).join("find"),
            "#!/bin/sh\nprintf '0Found %s\\t/about.txt\\tlocalhost\\t70\\r\\n' \"$SEARCHREQUEST\"\n\
             printf 'hA page\\tURL:http://lib.example/?a\\tlocalhost\\t70\\r\\n.\\r\\n'\n",
            0o755,
        );
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let port = listener.local_addr().expect("it is bound").port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                serve(&program, port, &root, stream);
            }
        });
        Some(Self {
            port,
            stop,
            thread: Some(thread),
            _directory: home,
        })
    }
}

/// Serves one connection until it ends. If the tests run as root, the program runs as an unprivileged user, because gophernicus
/// refuses to run as root.
fn serve(program: &Path, port: u16, root: &Path, stream: TcpStream) {
    const NOBODY: u32 = 65534;
    let mut command = command(program);
    let output = stream.try_clone().expect("a second handle");
    command
        .args(["-h", "localhost", "-p", &port.to_string(), "-r"])
        .arg(root)
        .stdin(Stdio::from(OwnedFd::from(stream)))
        .stdout(Stdio::from(OwnedFd::from(output)))
        .stderr(Stdio::null());
    if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    let status = command.status().expect("gophernicus starts");
    // The program exits with 1 if it has nothing to send, so any exit code is accepted.
    assert!(status.code().is_some(), "gophernicus: {status}");
}

impl Drop for Inetd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Connecting wakes the thread, unless it has already ended.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A running pygopherd, which is stopped when the value is dropped.
struct Pygopherd {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Pygopherd {
    fn start() -> Option<Self> {
        let program = peer::find("pygopherd")?;
        let packaged =
            fs::read_to_string("/etc/pygopherd/pygopherd.conf").expect("its configuration");
        // pygopherd does not accept port 0, and another program may take a free port before pygopherd listens on it.
        (0..3)
            .find_map(|_| Self::attempt(&program, &packaged))
            .or_else(|| panic!("pygopherd does not listen"))
    }

    fn attempt(program: &Path, packaged: &str) -> Option<Self> {
        let home = tempfile::tempdir().expect("a directory");
        let root = directory(home.path().join("root"));
        write(root.join("about.txt"), TEXT, 0o644);
        write(
            root.join("about.txt.abstract"),
            "About this\nin two lines\n",
            0o644,
        );
        write(
            root.join("about.txt.ask"),
            "Ask: Your name\tnobody\n",
            0o644,
        );
        write(
            directory(root.join("docs")).join("inner.txt"),
            "inner\n",
            0o644,
        );
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let configuration = home.path().join("pygopherd.conf");
        fs::write(&configuration, configured(packaged, port, home.path()))
            .expect("the file is written");
        let mut child = command(program)
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pygopherd starts");
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
            if TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).is_ok() {
                return Some(Self {
                    child,
                    port,
                    _directory: home,
                });
            }
            z3950_tests::pause();
        }
        // The server has ended or does not listen on this port.
        let _ = child.kill();
        let _ = child.wait();
        None
    }
}

/// Returns the packaged configuration with these changes: a port on loopback, a separate directory, and no change of the user.
fn configured(packaged: &str, port: u16, home: &Path) -> String {
    let home = home.display();
    let mut text = String::new();
    for line in packaged.lines() {
        let name = line.split('=').next().unwrap_or_default().trim();
        text += &match name {
            "port" => format!("port = {port}\ninterface = 127.0.0.1\nservername = localhost"),
            "usechroot" => "usechroot = no".to_owned(),
            "root" => format!("root = {home}/root"),
            "pidfile" => format!("pidfile = {home}/pid"),
            "logmethod" => "logmethod = none".to_owned(),
            "setuid" | "setgid" | "interface" | "servername" => String::new(),
            _ => line.to_owned(),
        };
        text.push('\n');
    }
    text
}

impl Drop for Pygopherd {
    fn drop(&mut self) {
        // An error means that the server has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
