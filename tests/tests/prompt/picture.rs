//! Checks the picture of the prompt in the documentation, which shows a session with the demo catalogue in a terminal.
//! `Z3950_PICTURES=1 cargo test --workspace --test all picture` creates it again.

use std::fs;
use std::path::Path;

use z3950_tests::screen::Screen;

use super::{Person, home};

const PICTURE: &str = "../client/docs/prompt.svg";
const PROMPT: &str = "z3950> ";
/// The number of characters in a line.
const WIDTH: u16 = 88;

/// The text that is typed, and the last text that appears before the next prompt.
const SAID: [(&str, &str); 4] = [
    ("find ti:war", "On war"),
    ("sort date", "1922"),
    ("format brief", ""),
    ("show 9", "[pg2600]"),
];

#[test]
fn the_picture_of_the_prompt_is_current() {
    let home = home();
    let command = ["z39.50s://localhost/books"];
    let mut person = Person::with_options(&["--demo"], command, home.path());
    let process = person.session.get_process_mut();
    process.set_window_size(WIDTH, 40).expect("a terminal");
    let mut screen = Screen::new(WIDTH.into());
    screen.write("$ z3950 --demo open 'z39.50s://localhost/books'\r\n");
    let mut shown = |person: &mut Person, text: &str| {
        let before = person.sees(text);
        screen.write(&before);
        screen.write(text);
    };
    shown(&mut person, PROMPT);
    for (typed, last) in SAID {
        person.enters(typed);
        // The editor redraws the typed line with each key.
        shown(&mut person, typed);
        shown(&mut person, "\r\n");
        if !last.is_empty() {
            shown(&mut person, last);
        }
        shown(&mut person, PROMPT);
    }
    let svg = screen.to_svg("A session of z3950 with the demo catalogue", PROMPT);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PICTURE);
    if std::env::var_os("Z3950_PICTURES").is_some() {
        fs::write(&path, &svg).expect("the picture is written");
    }
    let kept = fs::read_to_string(&path).expect("the picture is read");
    assert_eq!(kept, svg, "{:#?}", screen.lines());
    assert!(svg.len() <= 60 << 10, "{}", svg.len());
}
