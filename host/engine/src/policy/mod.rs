//! Runs allocation policies: components of others, in a sandbox each.
//!
//! A policy gets the interfaces `pool`, `state` and `log` of `wipam:ipam` and
//! nothing else. Each decision has a store of its own with all limits set
//! before the first instruction, so whatever a policy does, it leaves nothing
//! behind but what it wrote to `state`, and that only if the decision ended
//! well. Its answer is checked by whoever asked.

mod cache;
mod compiler;
mod digest;
mod failure;
mod fit;
mod host;
#[cfg(feature = "compile")]
mod inspect;
mod limits;
mod load;
mod log;
mod meter;
mod run;
mod settings;
mod state;
mod watch;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use wipam_core::policy::{Answer, Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::store::{PolicyState, Store};

use crate::convert;
use cache::Key;
pub use compiler::{Compiler, NoCompiler};
#[cfg(feature = "compile")]
pub use compiler::{InProcess, precompile};
pub use digest::sha256;
use failure::Name;
pub use failure::Spent;
use host::Pool;
#[cfg(feature = "compile")]
pub use inspect::{Description, World, inspect};
use load::{Loaded, Opened};

/// Most candidates that an answer may have.
const MOST_CANDIDATES: usize = 1024;

/// Runs policies. The one used last stays loaded: an ADD may ask it for each of
/// its range sets, and a GC tell it of many releases.
pub struct Policies {
    compiler: Box<dyn Compiler>,
    /// Components by their paths, in place of files.
    provided: Option<BTreeMap<String, Vec<u8>>>,
    last: Mutex<Option<Arc<Loaded>>>,
}

/// What [`Policies::install`] did.
#[derive(Clone, Debug)]
pub struct Installed {
    /// SHA-256 of the component.
    pub digest: String,
    /// Bytes of the component.
    pub component: usize,
    /// Bytes of its machine code.
    pub compiled: usize,
    /// The folder in which that is now, or why it could not be kept.
    pub cached: Result<PathBuf, String>,
}

impl Policies {
    /// Policies whose code this compiler makes, if it is not in the cache.
    pub fn new(compiler: impl Compiler + 'static) -> Self {
        Self {
            compiler: Box::new(compiler),
            provided: None,
            last: Mutex::new(None),
        }
    }

    /// Policies for a simulation: these, by the paths that configurations name
    /// them by, and no files. What is said of them does not tell how long they
    /// took, so that it is the same each time.
    pub fn provided(
        compiler: impl Compiler + 'static,
        components: BTreeMap<String, Vec<u8>>,
    ) -> Self {
        Self {
            provided: Some(components),
            ..Self::new(compiler)
        }
    }

    /// Puts a request to a policy. `log` is told what the policy says, a line
    /// at a time.
    ///
    /// Clones of the store share what they hold. What the policy writes is
    /// handed to [`PolicyState::set_policy_state`] if it has an answer.
    pub fn choose<S>(
        &self,
        store: &S,
        setting: &Setting,
        request: &Request,
        view: &View,
        log: impl FnMut(&str),
    ) -> Result<Decision, PolicyFailure>
    where
        S: Store + PolicyState + Clone + 'static,
    {
        self.choose_metered(store, setting, request, view, log).0
    }

    /// As [`Self::choose`], and says what it took.
    pub fn choose_metered<S>(
        &self,
        store: &S,
        setting: &Setting,
        request: &Request,
        view: &View,
        log: impl FnMut(&str),
    ) -> (Result<Decision, PolicyFailure>, Spent)
    where
        S: Store + PolicyState + Clone + 'static,
    {
        let policy = match self.load(setting) {
            Ok(policy) => policy,
            Err(failure) => return (Err(failure), Spent::default()),
        };
        let request = convert::policy::to_request(request);
        let outcome = run::choose(
            &policy,
            &setting.limits,
            store.clone(),
            Pool::from(view),
            &request,
        );
        let spent = outcome.spent;
        let mut state = outcome.state;
        let decided = outcome.result.and_then(|answer| {
            let answer = match convert::policy::answer(answer) {
                Answer::Candidates(addresses) if addresses.len() > MOST_CANDIDATES => {
                    return Err(policy.name.fails(format_args!(
                        "answered {} candidates{}, wanted at most {MOST_CANDIDATES}",
                        addresses.len(),
                        policy.name.took("after", spent)
                    )));
                }
                Answer::Nothing(why) => Answer::Nothing(log::one_line(why)),
                answer => {
                    state.memory.commit(&mut state.store);
                    answer
                }
            };
            Ok(Decision {
                answer,
                by: format!("{}{}", policy.name, policy.name.took("in", spent)),
            })
        });
        state.log.tell(log);
        (decided, spent)
    }

    /// Whether a request can be put to a policy. One that is not compiled yet
    /// is compiled.
    pub fn ready(&self, setting: &Setting) -> Result<(), PolicyFailure> {
        self.load(setting).map(|_| ())
    }

    /// Tells a policy of a release, if it wants to know. It sees reservations,
    /// but no ranges: the address may be of any set, or of none any more.
    pub fn released<S>(
        &self,
        store: &S,
        setting: &Setting,
        notice: &Notice,
        log: impl FnMut(&str),
    ) -> Result<(), PolicyFailure>
    where
        S: Store + PolicyState + Clone + 'static,
    {
        let policy = match &self.provided {
            Some(_) => self.load(setting)?,
            None => {
                let opened = load::open(setting)?;
                if load::is_not_told(&opened, setting) {
                    return Ok(());
                }
                self.loaded(opened, setting)?
            }
        };
        if policy.exports.released.is_none() {
            return Ok(());
        }
        let notice = convert::policy::to_notice(notice);
        let outcome = run::released(&policy, &setting.limits, store.clone(), &notice);
        let mut state = outcome.state;
        if outcome.result.is_ok() {
            state.memory.commit(&mut state.store);
        }
        state.log.tell(log);
        outcome.result
    }

    /// Compiles a policy anew and keeps its code in the cache, so that no
    /// invocation has to.
    pub fn install(&self, setting: &Setting) -> Result<Installed, PolicyFailure> {
        let portable = load::read(&load::open(setting)?)?;
        let code = load::compile(&portable, &*self.compiler)?;
        let folder = cache::path(&setting.cache);
        let cached = cache::put(folder, &Key::new(&portable.digest), &code)
            .map(|()| folder.to_owned())
            .map_err(|error| format!("{}: {error}", folder.display()));
        Ok(Installed {
            component: portable.bytes.len(),
            digest: portable.digest,
            compiled: code.len(),
            cached,
        })
    }

    /// SHA-256 of a policy, and whether its code is in the cache: whether the
    /// next decision can do without a compiler.
    pub fn is_compiled(&self, setting: &Setting) -> Result<(String, bool), PolicyFailure> {
        let portable = load::read(&load::open(setting)?)?;
        let code = cache::get(cache::path(&setting.cache), &Key::new(&portable.digest));
        Ok((portable.digest, code.is_some()))
    }

    fn load(&self, setting: &Setting) -> Result<Arc<Loaded>, PolicyFailure> {
        let Some(components) = &self.provided else {
            return self.loaded(load::open(setting)?, setting);
        };
        let path = &setting.component;
        let bytes = components.get(path).ok_or_else(|| {
            Name::new(path, None).fails("could not be read: there is no component of this name")
        })?;
        self.remembered(
            |last| last.is_for(setting),
            || load::provided(bytes, setting, &*self.compiler),
        )
    }

    fn loaded(&self, opened: Opened, setting: &Setting) -> Result<Arc<Loaded>, PolicyFailure> {
        self.remembered(
            |last| last.is_from(&opened.source),
            || load::load(&opened, setting, &*self.compiler),
        )
    }

    /// The policy that was used last, if it is the one, or else another.
    fn remembered(
        &self,
        is_it: impl FnOnce(&Loaded) -> bool,
        load: impl FnOnce() -> Result<Loaded, PolicyFailure>,
    ) -> Result<Arc<Loaded>, PolicyFailure> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = last().as_ref()
            && is_it(loaded)
        {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(load()?);
        *last() = Some(Arc::clone(&loaded));
        Ok(loaded)
    }
}
