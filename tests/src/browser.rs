//! Runs Chromium without a window, controlled through chromedriver (W3C WebDriver, <https://www.w3.org/TR/webdriver2/>), from the
//! Debian packages `chromium` and `chromium-driver`. Also runs axe-core, which finds accessibility problems.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::peer;
use crate::ports::free_port;
use crate::surroundings::command;

/// The maximum time to wait for a command, page or file.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of the JSON member that contains the reference to an element (WebDriver §12.2).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with a profile of its own, which is closed when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    session: String,
    folder: TempDir,
}

/// The display settings for pages.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The width in CSS pixels. A width of up to 500 emulates a phone.
    pub width: u32,
    /// Whether the user prefers a dark colour scheme.
    pub is_dark: bool,
}

impl Browser {
    /// Starts a browser, or returns `None` if Chromium or its driver is not installed.
    ///
    /// # Panics
    /// Panics if they are installed but do not work.
    pub fn start() -> Option<Self> {
        let (chromium, driver) = (peer::find("chromium")?, peer::find("chromedriver")?);
        let driver = Driver::start(&driver);
        let folder = tempfile::tempdir().expect("a folder");
        let profile = format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        );
        // Chromium's sandbox needs privileges that root in a container does not have.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            &profile,
        ];
        let options = json!({"binary": chromium, "args": arguments});
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options});
        let capabilities = json!({"capabilities": {"alwaysMatch": wanted}});
        let session = driver.call("POST", "/session", &capabilities);
        let session = session["sessionId"].as_str().expect("a session").to_owned();
        let browser = Self {
            driver,
            session,
            folder,
        };
        browser.devtools(
            "Browser.setDownloadBehavior",
            json!({"behavior": "allow", "downloadPath": browser.folder.path()}),
        );
        Some(browser)
    }

    /// Opens a URL and waits until the page is complete.
    pub fn open(&self, url: &str) {
        self.command("POST", "/url", &json!({"url": url}));
    }

    /// Returns the URL of the page.
    pub fn url(&self) -> String {
        text_of(&self.command("GET", "/url", &Value::Null))
    }

    /// Returns the visible text of the first element that matches a CSS selector.
    pub fn text(&self, selector: &str) -> String {
        text_of(&self.of_element(selector, "GET", "/text", &Value::Null))
    }

    /// Returns a property of the first element that matches, such as the value of a field.
    pub fn property(&self, selector: &str, name: &str) -> String {
        text_of(&self.of_element(selector, "GET", &format!("/property/{name}"), &Value::Null))
    }

    /// Clicks on the first element that matches, and waits until the linked page is complete.
    pub fn follow(&self, selector: &str) {
        self.evaluate("window.isLeft = true");
        self.click(selector);
        let script = "return !window.isLeft && document.readyState === 'complete'";
        let deadline = Instant::now() + PATIENCE;
        while self.evaluate(script) != Value::Bool(true) {
            assert!(Instant::now() < deadline, "{selector} leads to a page");
            crate::pause();
        }
    }

    /// Clicks on the first element that matches.
    pub fn click(&self, selector: &str) {
        self.of_element(selector, "POST", "/click", &json!({}));
    }

    /// Types text into the first element that matches, replacing its contents.
    pub fn type_into(&self, selector: &str, text: &str) {
        self.of_element(selector, "POST", "/clear", &json!({}));
        self.of_element(selector, "POST", "/value", &json!({"text": text}));
    }

    /// Runs a JavaScript function with this body, and returns its result.
    pub fn evaluate(&self, script: &str) -> Value {
        let body = json!({"script": script, "args": []});
        self.command("POST", "/execute/sync", &body)
    }

    /// Opens all collapsed sections.
    pub fn open_details(&self) {
        self.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)");
    }

    /// Sets the view for pages.
    pub fn set_view(&self, view: View) {
        let color = if view.is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": color}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features}));
        let metrics = json!({
            "width": view.width,
            "height": 844,
            "deviceScaleFactor": 1,
            "mobile": view.width <= 500,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Writes a screenshot of the complete page to a PNG file.
    pub fn screenshot(&self, path: &Path) {
        let whole = json!({"captureBeyondViewport": true, "format": "png"});
        let shot = self.devtools("Page.captureScreenshot", whole);
        let octets = STANDARD.decode(text_of(&shot["data"]));
        std::fs::write(path, octets.expect("base64")).expect("the file is written");
    }

    /// Writes the top of the page, of this width and height in CSS pixels, to a PNG file.
    pub fn picture(&self, path: &Path, (width, height): (u32, u32)) {
        self.devtools("Emulation.setScrollbarsHidden", json!({"hidden": true}));
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let shot = self.devtools(
            "Page.captureScreenshot",
            json!({"format": "png", "clip": clip}),
        );
        let octets = STANDARD.decode(text_of(&shot["data"]));
        std::fs::write(path, octets.expect("base64")).expect("the file is written");
    }

    /// Returns the number of CSS pixels by which the page is wider than the window.
    pub fn overflow(&self) -> i64 {
        let script =
            "const page = document.documentElement; return page.scrollWidth - page.clientWidth;";
        self.evaluate(script).as_i64().expect("a number")
    }

    /// Waits for the download of a file with this name, and returns its octets.
    pub fn downloaded(&self, name: &str) -> Vec<u8> {
        let path = self.folder.path().join(name);
        let deadline = Instant::now() + PATIENCE;
        // During the download, the browser writes to a file with a different name, and reserves the final name with an empty
        // file.
        while !path.metadata().is_ok_and(|file| file.len() > 0) {
            assert!(Instant::now() < deadline, "{name} is downloaded");
            crate::pause();
        }
        let octets = std::fs::read(&path).expect("the file is read");
        std::fs::remove_file(path).expect("the file is removed");
        octets
    }

    /// Runs axe-core, whose source is `script`, and returns the problems that it finds on the page, each with its rule and
    /// elements.
    pub fn axe(&self, script: &str) -> Vec<String> {
        self.evaluate(script);
        let run = "const done = arguments[0]; axe.run({runOnly: [
            'wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(
            result => done(result.violations.map(found =>
                found.id + ': ' + found.nodes.map(node => node.html + ' ' + node.failureSummary).join('; '))),
            error => done([String(error)]));";
        let body = json!({"script": run, "args": []});
        let found = self.command("POST", "/execute/async", &body);
        let found = found.as_array().expect("a list");
        found.iter().map(text_of).collect()
    }

    fn of_element(&self, selector: &str, method: &str, path: &str, body: &Value) -> Value {
        let by = json!({"using": "css selector", "value": selector});
        let found = self.command("POST", "/element", &by);
        let element = found[ELEMENT].as_str().expect("an element");
        self.command(method, &format!("/element/{element}{path}"), body)
    }

    /// Sends a command of the Chrome DevTools Protocol.
    fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.command("POST", "/goog/cdp/execute", &body)
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        self.driver.call(method, &path, body)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Deleting the session ends the browser. The driver ends when its own value is dropped.
        let path = format!("/session/{}", self.session);
        let _ = self.driver.request("DELETE", &path, &Value::Null);
    }
}

/// Returns the source of axe-core, read from the path in the variable `Z3950_AXE`. If the variable is not set, prints that the
/// check is skipped.
///
/// # Panics
/// Panics if the file cannot be read.
pub fn axe_core() -> Option<String> {
    let Some(path) = std::env::var_os("Z3950_AXE").map(PathBuf::from) else {
        peer::skip("axe-core (Z3950_AXE)");
        return None;
    };
    let text = std::fs::read_to_string(&path);
    Some(text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A chromedriver process, which is stopped when the value is dropped.
#[derive(Debug)]
struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    /// Starts chromedriver on a free port. Tries several ports, because another program may take a port first.
    fn start(program: &Path) -> Self {
        let started = (0..3).find_map(|_| Self::start_on(program, free_port()));
        started.expect("chromedriver listens")
    }

    /// Starts chromedriver on a given port, or returns `None` if the port is in use. The caller chooses the port, because on a
    /// machine without IPv6, chromedriver does not report a port that it has chosen itself.
    fn start_on(program: &Path, port: u16) -> Option<Self> {
        let mut child = command(program)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let output = child.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let driver = Self { child, port };
        let is_ready = lines.any(|line| line.contains("started successfully"));
        is_ready.then_some(driver)
    }

    /// Sends a command and returns the value of the answer.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.request(method, path, body);
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let mut answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let value = answer["value"].take();
        assert!(
            value["error"].is_null(),
            "{method} {path} {body:.200}: {value}"
        );
        value
    }

    /// Sends an HTTP/1.1 request, and returns the body of the answer.
    fn request(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line)? > 2 {
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // An error means that the driver has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
