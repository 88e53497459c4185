//! `cargo xtask picture`: the picture of the screen in the README, made from the real screen.
//!
//! `troupe demo tui` runs in tmux; once its grandchild asks, the screen is captured with its
//! styles and written as SVG. Needs tmux, and the program as `cargo build -p troupe` makes it.

use std::fmt::Write as _;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

const COLUMNS: usize = 100;
const ROWS: usize = 26;
/// What is on the screen when it is worth a picture.
const MOMENT: &str = "needs you";
const PATIENCE: Duration = Duration::from_mins(1);
/// The size of a letter, in units of the picture.
const WIDTH: f64 = 8.43;
const HEIGHT: usize = 18;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
/// The eight colours, and their bright forms.
const COLOURS: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
    "#6b717d", "#ff8b94", "#b5e08f", "#ffd68a", "#82c4ff", "#de9bf0", "#7fd6e0", "#ffffff",
];

/// A tmux server of our own. Dropping it ends the demo.
struct Window {
    socket: String,
}

impl Window {
    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(arguments);
        command.env("TERM", "xterm-256color");
        command
    }

    fn captured(&self, flags: &[&str]) -> Result<String> {
        let arguments = [&["capture-pane", "-p"], flags].concat();
        let output = self.tmux(&arguments).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // It may never have begun.
        let _ = self.tmux(&["kill-server"]).status();
    }
}

pub fn run() -> Result<()> {
    let root = crate::test::root();
    let program = root.join("target/debug/troupe");
    ensure!(
        program.is_file(),
        "{} is missing; run `cargo build -p troupe` first",
        program.display()
    );
    let name = format!("troupe-picture-{}.sock", std::process::id());
    let window = Window {
        socket: std::env::temp_dir().join(name).display().to_string(),
    };
    let mut command = window.tmux(&["-f", "/dev/null", "new-session", "-d"]);
    command.args(["-x", &COLUMNS.to_string(), "-y", &ROWS.to_string()]);
    command.arg(format!("{} demo tui", program.display()));
    let begun = command.status().context("tmux cannot be started")?;
    ensure!(begun.success(), "tmux did not begin");
    let begun = Instant::now();
    while !window.captured(&[])?.contains(MOMENT) {
        ensure!(
            begun.elapsed() < PATIENCE,
            "{MOMENT:?} never was on the screen"
        );
        sleep(Duration::from_millis(50));
    }
    let picture = svg(&window.captured(&["-e"])?);
    let path = root.join("docs/screen.svg");
    std::fs::write(&path, picture).with_context(|| path.display().to_string())
}

/// How letters look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Look {
    colour: Option<String>,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    reverse: bool,
}

impl Look {
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters
            .split(';')
            .map(|it| it.parse::<usize>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                27 => self.reverse = false,
                30..=37 => self.colour = Some(COLOURS[number - 30].to_owned()),
                90..=97 => self.colour = Some(COLOURS[number - 82].to_owned()),
                38 => self.colour = palette(&mut numbers),
                39 => self.colour = None,
                40..=47 => self.background = Some(COLOURS[number - 40].to_owned()),
                100..=107 => self.background = Some(COLOURS[number - 92].to_owned()),
                48 => self.background = palette(&mut numbers),
                49 => self.background = None,
                _ => {}
            }
        }
    }

    fn colours(&self) -> (&str, Option<&str>) {
        let colour = self.colour.as_deref().unwrap_or(FOREGROUND);
        if self.reverse {
            let background = self.background.as_deref().unwrap_or(BACKGROUND);
            (background, Some(colour))
        } else {
            (colour, self.background.as_deref())
        }
    }
}

/// Reads a colour of 256, or one of three numbers.
fn palette(numbers: &mut impl Iterator<Item = usize>) -> Option<String> {
    if numbers.next()? != 5 {
        let (red, green, blue) = (numbers.next()?, numbers.next()?, numbers.next()?);
        return Some(format!("#{red:02x}{green:02x}{blue:02x}"));
    }
    Some(match numbers.next()? {
        number @ 0..16 => COLOURS[number].to_owned(),
        number @ 16..232 => {
            let level = |step: usize| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = number - 16;
            let (red, green, blue) = (cube / 36, cube / 6 % 6, cube % 6);
            format!("#{:02x}{:02x}{:02x}", level(red), level(green), level(blue))
        }
        number => {
            let grey = 8 + 10 * (number - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    })
}

/// Draws a captured screen.
fn svg(screen: &str) -> String {
    let rows: Vec<&str> = screen.trim_end().lines().collect();
    let (width, height) = (columns_wide(COLUMNS + 2), HEIGHT * (rows.len() + 1));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n"
    );
    let mut look = Look::default();
    for (number, row) in rows.iter().enumerate() {
        let mut column = 0;
        for (index, piece) in row.split("\x1b[").enumerate() {
            let text = match piece.split_once('m').filter(|_| index > 0) {
                Some((parameters, text)) => {
                    look.apply(parameters);
                    text
                }
                None => piece,
            };
            draw(&mut svg, &look, text, number, column);
            column += text.chars().count();
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns how wide so many letters are. No screen has more than fit into the number.
fn columns_wide(letters: usize) -> f64 {
    WIDTH * f64::from(u16::try_from(letters).unwrap_or(u16::MAX))
}

fn draw(svg: &mut String, look: &Look, text: &str, row: usize, column: usize) {
    if text.is_empty() {
        return;
    }
    let (colour, background) = look.colours();
    let (x, y) = (columns_wide(column + 1), HEIGHT * row + HEIGHT / 2);
    let width = columns_wide(text.chars().count());
    if let Some(background) = background {
        // Text in memory takes every write.
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"{background}\"/>"
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    for (is_on, attribute) in [
        (look.bold, " font-weight=\"bold\""),
        (look.italic, " font-style=\"italic\""),
        (look.dim, " opacity=\"0.65\""),
    ] {
        if is_on {
            style.push_str(attribute);
        }
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let baseline = y + HEIGHT * 3 / 4;
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{baseline}\" textLength=\"{width:.1}\" xml:space=\"preserve\" \
         fill=\"{colour}\"{style}>{text}</text>"
    );
}
