//! The Python wheel: `pip install troupe_cli-VERSION-….whl`. A wheel is a zip file with the
//! program as a script, what it says of itself, and a record of its own files.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::program::Program;
use super::{DESCRIPTION, PACKAGE};
use crate::test::root;

const EXECUTABLE: u32 = 0o755;
const PLAIN: u32 = 0o644;

pub fn make(program: &Program, out: &Path) -> Result<PathBuf> {
    let name = format!("{}-{}", PACKAGE.replace('-', "_"), program.version);
    let tag = tag(program);
    let path = out.join(format!("{name}-{tag}.whl"));
    let mut wheel = Wheel {
        zip: ZipWriter::new(File::create(&path)?),
        record: String::new(),
    };
    let about = format!("{name}.dist-info");
    wheel.add(
        &format!("{name}.data/scripts/troupe"),
        &fs::read(&program.path)?,
        EXECUTABLE,
    )?;
    wheel.add(
        &format!("{about}/METADATA"),
        metadata(program)?.as_bytes(),
        PLAIN,
    )?;
    wheel.add(
        &format!("{about}/WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n")
            .as_bytes(),
        PLAIN,
    )?;
    wheel.add(
        &format!("{about}/licenses/LICENSE"),
        &fs::read(root().join("LICENSE"))?,
        PLAIN,
    )?;
    wheel.finish(&format!("{about}/RECORD"))?;
    Ok(path)
}

/// Any Python, no binary interface of it, and a C library that has what the program calls.
fn tag(program: &Program) -> String {
    let (major, minor) = program.glibc;
    let machine = program.platform.python;
    format!("py3-none-manylinux_{major}_{minor}_{machine}")
}

fn metadata(program: &Program) -> Result<String> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    Ok(format!(
        "Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {}\nSummary: {DESCRIPTION}\n\
         License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        program.version
    ))
}

struct Wheel {
    zip: ZipWriter<File>,
    /// `name,hash,size` of every file.
    record: String,
}

impl Wheel {
    fn add(&mut self, name: &str, contents: &[u8], mode: u32) -> Result<()> {
        // Without a time of its own: the same program makes the same wheel.
        let options = SimpleFileOptions::default().unix_permissions(mode);
        self.zip.start_file(name, options)?;
        self.zip.write_all(contents)?;
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(contents));
        writeln!(self.record, "{name},sha256={hash},{}", contents.len())?;
        Ok(())
    }

    fn finish(mut self, record: &str) -> Result<()> {
        writeln!(self.record, "{record},,")?;
        let options = SimpleFileOptions::default().unix_permissions(PLAIN);
        self.zip.start_file(record, options)?;
        self.zip.write_all(self.record.as_bytes())?;
        self.zip.finish()?;
        Ok(())
    }
}
