//! From the path of a component to code that can be run.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wasmtime::Engine;
use wasmtime::component::Component;
use wipam_core::policy::{Limits, PolicyFailure, Setting};

use super::cache::{self, Key, Known};
use super::compiler::Compiler;
use super::failure::Name;
use super::fit::{self, Exports};
use super::log::one_line;
use super::{digest, settings};

/// A policy, ready to be run.
pub(super) struct Loaded {
    pub(super) name: Name,
    pub(super) engine: Engine,
    pub(super) component: Component,
    pub(super) exports: Exports,
    /// Whether fuel alone does not bound it.
    pub(super) watched: bool,
    /// What it was loaded from and for: while this is the same, so is it.
    source: Source,
}

/// What tells whether a policy has to be loaded again.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: String,
    limits: Limits,
    /// Device, number, size, and times of the last changes of content and
    /// file.
    pub(super) file: [i64; 7],
}

impl Source {
    /// When the file was changed last.
    pub(super) fn changed(&self) -> SystemTime {
        let [.., seconds, nanos] = self.file;
        let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
        UNIX_EPOCH + Duration::from_secs(unsigned(seconds)) + Duration::from_nanos(unsigned(nanos))
    }
}

impl Loaded {
    pub(super) fn is_from(&self, source: &Source) -> bool {
        self.source == *source
    }

    pub(super) fn is_for(&self, setting: &Setting) -> bool {
        self.source.path == setting.component && self.source.limits == setting.limits
    }
}

/// The component that a configuration names, opened and within its limit.
pub(super) struct Opened {
    file: File,
    size: u64,
    pub(super) source: Source,
}

/// The component's bytes, and what is known by them.
pub(super) struct Portable {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: String,
    pub(super) name: Name,
}

#[allow(
    clippy::cast_possible_wrap,
    reason = "the numbers are only compared with each other"
)]
pub(super) fn open(setting: &Setting) -> Result<Opened, PolicyFailure> {
    let name = Name::new(&setting.component, None);
    let unreadable = |error: std::io::Error| name.fails(format_args!("could not be read: {error}"));
    let file = File::options()
        .read(true)
        // Whatever is there under this name, it is not waited for.
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(&setting.component)
        .map_err(unreadable)?;
    let of = file.metadata().map_err(unreadable)?;
    if !of.is_file() {
        return Err(name.fails("is no regular file"));
    }
    within_limit(&name, of.len(), setting)?;
    let source = Source {
        path: setting.component.clone(),
        limits: setting.limits,
        file: [
            of.dev() as i64,
            of.ino() as i64,
            of.size() as i64,
            of.mtime(),
            of.mtime_nsec(),
            of.ctime(),
            of.ctime_nsec(),
        ],
    };
    Ok(Opened {
        file,
        size: of.len(),
        source,
    })
}

fn within_limit(name: &Name, size: u64, setting: &Setting) -> Result<(), PolicyFailure> {
    let most = setting.limits.component;
    if size > most {
        return Err(name.fails(format_args!(
            "exceeded its limit of {most} bytes of component: it has {size}"
        )));
    }
    Ok(())
}

pub(super) fn read(opened: &Opened) -> Result<Portable, PolicyFailure> {
    let path = &opened.source.path;
    let mut bytes = Vec::with_capacity(usize::try_from(opened.size).unwrap_or(0));
    (&opened.file)
        // It may be growing.
        .take(opened.size)
        .read_to_end(&mut bytes)
        .map_err(|error| Name::new(path, None).fails(format_args!("could not be read: {error}")))?;
    let digest = digest::sha256(&bytes);
    Ok(Portable {
        name: Name::new(path, Some(&digest)),
        bytes,
        digest,
    })
}

/// A component that can be run, from the cache or else compiled.
pub(super) fn load(
    opened: &Opened,
    setting: &Setting,
    compiler: &dyn Compiler,
) -> Result<Loaded, PolicyFailure> {
    let source = &opened.source;
    let folder = cache::path(&setting.cache);
    if let Some(known) = cache::recall(folder, source)
        && let Some(code) = cache::get(folder, &Key::new(&known.digest))
    {
        let name = Name::new(&source.path, Some(&known.digest));
        let engine = engine(&name, setting, known.watched)?;
        if let Ok(component) = mapped(&engine, &code) {
            return loaded(name, engine, component, known.watched, source);
        }
    }
    let portable = read(opened)?;
    let name = &portable.name;
    let watched = fit::is_composed(&portable.bytes);
    let engine = engine(name, setting, watched)?;
    let key = Key::new(&portable.digest);
    let cached = cache::get(folder, &key).and_then(|code| mapped(&engine, &code).ok());
    let component = match cached {
        Some(component) => component,
        None => {
            let code = compile(&portable, compiler)?;
            let component = component(&engine, &code)
                .map_err(|error| name.fails(format_args!("could not be loaded: {error:#}")))?;
            // If it cannot be kept it is compiled again the next time.
            let _ = cache::put(folder, &key, &code);
            component
        }
    };
    let loaded = loaded(name.clone(), engine, component, watched, source)?;
    let known = Known {
        digest: portable.digest,
        watched,
        told: loaded.exports.released.is_some(),
    };
    cache::note(folder, source, &known);
    Ok(loaded)
}

/// A component of which the bytes are there, compiled anew.
pub(super) fn provided(
    bytes: &[u8],
    setting: &Setting,
    compiler: &dyn Compiler,
) -> Result<Loaded, PolicyFailure> {
    let path = &setting.component;
    within_limit(&Name::new(path, None), bytes.len() as u64, setting)?;
    let digest = digest::sha256(bytes);
    let portable = Portable {
        name: Name::new(path, Some(&digest)).plain(),
        bytes: bytes.to_owned(),
        digest,
    };
    let name = &portable.name;
    let watched = fit::is_composed(bytes);
    let engine = engine(name, setting, watched)?;
    let code = compile(&portable, compiler)?;
    let component = component(&engine, &code)
        .map_err(|error| name.fails(format_args!("could not be loaded: {error:#}")))?;
    let source = Source {
        path: path.clone(),
        limits: setting.limits,
        file: [0; 7],
    };
    loaded(name.clone(), engine, component, watched, &source)
}

/// Whether a policy is known not to care about releases.
pub(super) fn is_not_told(opened: &Opened, setting: &Setting) -> bool {
    let known = cache::recall(cache::path(&setting.cache), &opened.source);
    known.is_some_and(|known| !known.told)
}

fn engine(name: &Name, setting: &Setting, watched: bool) -> Result<Engine, PolicyFailure> {
    Engine::new(&settings::running(&setting.limits, watched))
        .map_err(|error| name.fails(format_args!("could not be loaded: {error:#}")))
}

fn loaded(
    name: Name,
    engine: Engine,
    component: Component,
    watched: bool,
    source: &Source,
) -> Result<Loaded, PolicyFailure> {
    let exports = fit::exports(&engine, &component)
        .map_err(|why| name.fails(format_args!("is no policy: {why}")))?;
    Ok(Loaded {
        name,
        engine,
        component,
        exports,
        watched,
        source: source.clone(),
    })
}

pub(super) fn compile(
    portable: &Portable,
    compiler: &dyn Compiler,
) -> Result<Vec<u8>, PolicyFailure> {
    let name = &portable.name;
    fit::check(&portable.bytes).map_err(|why| name.fails(format_args!("is no policy: {why}")))?;
    compiler
        .compile(&portable.bytes)
        .map_err(|why| name.fails(format_args!("could not be compiled: {}", one_line(why))))
}

/// Code from the compiler.
#[allow(
    unsafe_code,
    reason = "machine code cannot be checked; it has to be trusted"
)]
fn component(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the function asks that the bytes come from
    // `precompile_component` unchanged; version, target and settings it checks
    // itself. They come from a `Compiler`, which promises so.
    unsafe { Component::deserialize(engine, code) }
}

/// Code from the cache. It is mapped, so that only what is used is read; where
/// that cannot be done it is copied.
#[allow(
    unsafe_code,
    reason = "machine code cannot be checked; it has to be trusted"
)]
fn mapped(engine: &Engine, code: &File) -> wasmtime::Result<Component> {
    // The file that was looked at, whatever has its name by now.
    let path = format!("/proc/self/fd/{}", code.as_raw_fd());
    // SAFETY: the function asks that the file has what `precompile_component`
    // made, and that nobody changes it meanwhile; version, target and settings
    // it checks itself. The cache gives back only what it was given, from a
    // `Compiler`, which promises so: the folder and the file can be written by
    // root and this user alone, who never write into a file that is there, and
    // a checksum finds damage.
    unsafe { Component::deserialize_file(engine, path) }
}
