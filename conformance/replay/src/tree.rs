//! A file system in memory, as much of one as the cases need.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::rc::Rc;

use serde_json::Value;
use wipam_core::environment::{Environment, Inputs};
use wipam_core::policy::{Answer, Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::store::{Access, Location, StoreError, StoreErrorKind};
use wipam_store::{MemoryDirectory, MemoryFile, MemoryStore};

use crate::text::{bytes, collapse, expand, names};

/// What `${DATADIR}` stands for.
pub const DATA_DIR: &str = "/data";

/// Everything below `${DATADIR}`: networks' directories by path, other files
/// beside them.
#[derive(Clone, Default)]
pub struct Tree {
    directories: BTreeMap<String, Rc<RefCell<MemoryDirectory>>>,
    /// Network directories that an ADD has made, with their lock.
    locks: std::collections::BTreeSet<String>,
}

impl Tree {
    /// Makes, changes and removes files as `files` of a case or step says.
    pub fn edit(&mut self, files: &Value) {
        for (name, value) in files.as_object().into_iter().flatten() {
            for name in names(&expand(name)) {
                self.edit_one(&name, value);
            }
        }
    }

    fn edit_one(&mut self, name: &str, value: &Value) {
        let path = name.trim_end_matches('/');
        if value.is_null() {
            let below = format!("{path}/");
            self.directories
                .retain(|known, _| known != path && !known.starts_with(&below));
            self.locks
                .retain(|known| known != path && !known.starts_with(&below));
            self.parent(path, |directory, name| drop(directory.remove(name)));
            return;
        }
        if name.ends_with('/') {
            self.directory(path);
            self.parent(path, |directory, name| {
                directory.insert(name.to_owned(), MemoryFile::Directory);
            });
            return;
        }
        // Whatever a lock holds does not matter.
        if let Some((directory, "lock")) = path.rsplit_once('/') {
            self.directory(directory);
            self.locks.insert(directory.to_owned());
            return;
        }
        let file = if value.get("link").is_some() {
            MemoryFile::DanglingLink
        } else {
            MemoryFile::Content(bytes(value))
        };
        self.parent(path, |directory, name| {
            drop(directory.insert(name.to_owned(), file.clone()))
        });
    }

    fn parent(&mut self, path: &str, change: impl Fn(&mut MemoryDirectory, &str)) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        change(&mut self.directory(directory).borrow_mut(), name);
    }

    fn directory(&mut self, path: &str) -> Rc<RefCell<MemoryDirectory>> {
        Rc::clone(self.directories.entry(path.to_owned()).or_default())
    }

    /// Path to content of all there is, as `disk` of a step has it.
    pub fn snapshot(&self) -> BTreeMap<String, Value> {
        let mut state = BTreeMap::new();
        for (path, directory) in &self.directories {
            let mut above = String::new();
            for part in path.split('/').filter(|part| !part.is_empty()) {
                above = format!("{above}{part}/");
                state.insert(above.clone(), Value::Bool(true));
            }
            for (name, file) in directory.borrow().iter() {
                match file {
                    MemoryFile::Content(content) => {
                        state.insert(format!("{above}{name}"), collapse(content));
                    }
                    MemoryFile::Directory => {
                        state.insert(format!("{above}{name}/"), Value::Bool(true));
                    }
                    MemoryFile::DanglingLink => {
                        state.insert(format!("{above}{name}"), Value::from("(link)"));
                    }
                }
            }
        }
        for path in &self.locks {
            state.insert(format!("{path}/lock"), Value::Bool(true));
        }
        state
    }

    /// A copy that changes on its own.
    pub fn detached(&self) -> Self {
        let directories = self.directories.iter();
        Self {
            directories: directories
                .map(|(path, d)| (path.clone(), Rc::new(RefCell::new(d.borrow().clone()))))
                .collect(),
            locks: self.locks.clone(),
        }
    }
}

/// What an invocation sees. Clones share it.
#[derive(Clone, Default)]
pub struct World {
    /// The files.
    pub tree: Rc<RefCell<Tree>>,
    /// What was said on standard error.
    pub warnings: Rc<RefCell<Vec<String>>>,
    /// How often a policy was asked.
    pub asked: Rc<RefCell<usize>>,
}

/// A path below `${DATADIR}`, relative to it, without dots; `None` elsewhere.
/// Relative paths start there: it is the working directory of every step.
fn below(path: &str) -> Option<String> {
    let path = Path::new(DATA_DIR).join(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_str()?),
            _ => {}
        }
    }
    let (first, rest) = parts.split_first()?;
    (*first == DATA_DIR.trim_start_matches('/')).then(|| rest.join("/"))
}

fn failed(kind: StoreErrorKind, message: String) -> StoreError {
    StoreError { kind, message }
}

impl Environment for World {
    type Store = MemoryStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<MemoryStore>, StoreError> {
        let data_dir = &location.data_dir;
        let path = below(&format!("{data_dir}/{}", location.network)).ok_or_else(|| {
            failed(
                StoreErrorKind::Location,
                format!("{data_dir} is not in memory"),
            )
        })?;
        let mut tree = self.tree.borrow_mut();
        if access != Access::Reserve && !tree.directories.contains_key(&path) {
            return Ok(None);
        }
        if matches!(access, Access::Reserve | Access::Release | Access::Collect) {
            tree.locks.insert(path.clone());
        }
        Ok(Some(MemoryStore::new(tree.directory(&path))))
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        if path == "/dev/null" {
            return Ok(String::new());
        }
        let tree = self.tree.borrow();
        let found = below(path).and_then(|path| {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
            tree.directories.get(directory)?.borrow().get(name).cloned()
        });
        match found {
            Some(MemoryFile::Content(content)) => {
                Ok(String::from_utf8_lossy(&content).into_owned())
            }
            _ => Err(failed(
                StoreErrorKind::Io,
                format!("{path}: no such file in memory"),
            )),
        }
    }

    fn warn(&mut self, message: &str) {
        self.warnings.borrow_mut().push(message.to_owned());
    }

    fn inputs(&mut self) -> Inputs {
        Inputs::default()
    }

    fn noting(&mut self) -> bool {
        false
    }

    fn note(&mut self, _: &str) {}

    /// Whatever policy a case names, it leaves the choice to the strategy.
    fn choose(
        &mut self,
        _: &mut MemoryStore,
        _: &Setting,
        _: &Request,
        _: &View,
    ) -> Result<Decision, PolicyFailure> {
        *self.asked.borrow_mut() += 1;
        Ok(Decision {
            answer: Answer::YouDecide,
            by: "policy".to_owned(),
        })
    }

    fn ready(&mut self, _: &Setting) -> Result<(), PolicyFailure> {
        Ok(())
    }

    fn released(
        &mut self,
        _: &mut MemoryStore,
        _: &Setting,
        _: &Notice,
    ) -> Result<(), PolicyFailure> {
        Ok(())
    }
}
