//! The contents of a terminal to which a program writes, as lines of text and as a picture (SVG 1.1). Only what prompts print is
//! supported: text, cursor movements, erasing, and bold or faint text (ECMA-48).

use std::fmt::Write;

/// The lines of a terminal that never scrolls.
#[derive(Clone, Debug)]
pub struct Screen {
    lines: Vec<Vec<Cell>>,
    /// The number of characters in a line.
    width: usize,
    row: usize,
    column: usize,
    weight: Weight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    character: char,
    weight: Weight,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Weight {
    #[default]
    Normal,
    Bold,
    Faint,
}

const BLANK: Cell = Cell {
    character: ' ',
    weight: Weight::Normal,
};

impl Screen {
    /// Creates an empty screen with lines of this many characters.
    pub fn new(width: usize) -> Self {
        Self {
            lines: vec![Vec::new()],
            width,
            row: 0,
            column: 0,
            weight: Weight::Normal,
        }
    }

    /// Writes the output of a program to the screen. Unknown control sequences are ignored.
    pub fn write(&mut self, text: &str) {
        let mut rest = text.chars().peekable();
        while let Some(one) = rest.next() {
            match one {
                '\n' => self.go_to(self.row + 1, self.column),
                '\r' => self.column = 0,
                '\u{8}' => self.column = self.column.saturating_sub(1),
                '\u{1b}' => {
                    if rest.next_if_eq(&'[').is_none() {
                        continue;
                    }
                    let mut parameters = String::new();
                    let last = rest.find(|one| {
                        let is_last = ('@'..='~').contains(one);
                        if !is_last {
                            parameters.push(*one);
                        }
                        is_last
                    });
                    self.control(last.unwrap_or_default(), &parameters);
                }
                one if one.is_control() => {}
                one => self.put(one),
            }
        }
    }

    /// Returns the lines without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let text = |line: &Vec<Cell>| line.iter().map(|cell| cell.character).collect::<String>();
        let lines = self.lines.iter().map(text);
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    fn put(&mut self, character: char) {
        if self.column == self.width {
            self.go_to(self.row + 1, 0);
        }
        let cell = Cell {
            character,
            weight: self.weight,
        };
        let column = self.column;
        let line = &mut self.lines[self.row];
        if line.len() <= column {
            line.resize(column + 1, BLANK);
        }
        line[column] = cell;
        self.column += 1;
    }

    fn go_to(&mut self, row: usize, column: usize) {
        self.row = row;
        self.column = column.min(self.width);
        if self.lines.len() <= row {
            self.lines.resize(row + 1, Vec::new());
        }
    }

    /// Executes a control sequence.
    fn control(&mut self, last: char, parameters: &str) {
        let number: usize = parameters.parse().unwrap_or(0);
        let steps = number.max(1);
        match last {
            'A' => self.go_to(self.row.saturating_sub(steps), self.column),
            'B' => self.go_to(self.row + steps, self.column),
            'C' => self.go_to(self.row, self.column + steps),
            'D' => self.column = self.column.saturating_sub(steps),
            'G' => self.go_to(self.row, steps - 1),
            'J' if number == 0 => {
                self.lines.truncate(self.row + 1);
                self.lines[self.row].truncate(self.column);
            }
            'K' if number == 0 => self.lines[self.row].truncate(self.column),
            'K' if number == 2 => self.lines[self.row].clear(),
            'm' => {
                for parameter in parameters.split(';') {
                    self.weight = match parameter {
                        "1" => Weight::Bold,
                        "2" => Weight::Faint,
                        "" | "0" | "22" => Weight::Normal,
                        _ => self.weight,
                    };
                }
            }
            _ => {}
        }
    }

    /// Returns a picture of the screen as SVG. `prompt` is the text that precedes the user's input. The prompt is coloured, and
    /// the input is bold.
    pub fn to_svg(&self, title: &str, prompt: &str) -> String {
        const LINE: usize = 20;
        const MARGIN: usize = 18;
        // In the fonts named below, a character is about 0.6 em wide.
        let width = self.width * 84 / 10 + 2 * MARGIN;
        let lines = self.lines();
        let shown = lines.iter().rposition(|line| !line.is_empty());
        let shown = shown.map_or(0, |last| last + 1);
        let height = shown * LINE + 2 * MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#12161c\"/>\n\
             <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#e6edf3\">\n",
            escaped(title)
        );
        for (number, line) in self.lines.iter().take(shown).enumerate() {
            let place = MARGIN + number * LINE + 14;
            let runs = runs(line, prompt);
            if runs.is_empty() {
                continue;
            }
            // Writing to a String cannot fail.
            let _ = write!(
                svg,
                "<text xml:space=\"preserve\" x=\"{MARGIN}\" y=\"{place}\">"
            );
            for (text, style) in runs {
                let _ = match style {
                    "" => write!(svg, "{}", escaped(&text)),
                    style => write!(svg, "<tspan {style}>{}</tspan>", escaped(&text)),
                };
            }
            svg.push_str("</text>\n");
        }
        svg.push_str("</g>\n</svg>\n");
        svg
    }
}

/// Splits a line into parts of the same style, and returns each part with the SVG attributes for its style.
fn runs(line: &[Cell], prompt: &str) -> Vec<(String, &'static str)> {
    let text: String = line.iter().map(|cell| cell.character).collect();
    let length = text.trim_end().chars().count();
    if let Some(typed) = text.trim_end().strip_prefix(prompt) {
        return vec![
            (prompt.to_owned(), "fill=\"#8cbcff\""),
            (typed.to_owned(), "font-weight=\"bold\""),
        ];
    }
    let mut runs: Vec<(String, &'static str)> = Vec::new();
    for cell in line.iter().take(length) {
        let style = match cell.weight {
            Weight::Normal => "",
            Weight::Bold => "font-weight=\"bold\"",
            Weight::Faint => "fill=\"#a6b0bb\"",
        };
        match runs.last_mut().filter(|last| last.1 == style) {
            Some((text, _)) => text.push(cell.character),
            None => runs.push((cell.character.to_string(), style)),
        }
    }
    runs
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_written_again_is_shown_once() {
        for (text, expected) in [
            ("one\r\ntwo", &["one", "two"][..]),
            ("> f\r\u{1b}[K> fi\r\u{1b}[K> find\r\n", &["> find", ""]),
            ("abcdef", &["abcd", "ef"]),
            ("ab\u{8}c\u{1b}[1Dd", &["ad"]),
            ("one\r\ntwo\r\nx\u{1b}[2A\r\u{1b}[Jnew", &["new"]),
            ("\u{1b}[1mbold\u{1b}[0m\u{1b}[?2004h", &["bold"]),
        ] {
            let mut screen = Screen::new(4);
            if text.contains("find") || text.starts_with("one\r\ntwo\r\nx") {
                screen = Screen::new(80);
            }
            screen.write(text);
            assert_eq!(screen.lines(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_picture_has_the_text_unchanged() {
        let mut screen = Screen::new(20);
        screen.write("> find <b>\r\n1 \u{1b}[1mhit\u{1b}[0m & more\r\n\r\n");
        let svg = screen.to_svg("A \"prompt\"", "> ");
        for part in [
            "<title>A &quot;prompt&quot;</title>",
            "<tspan fill=\"#8cbcff\">> </tspan>"
                .replace("> <", "&gt; <")
                .as_str(),
            "<tspan font-weight=\"bold\">find &lt;b&gt;</tspan>",
            ">1 <tspan font-weight=\"bold\">hit</tspan> &amp; more</text>",
            "height=\"76\"",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }
}
