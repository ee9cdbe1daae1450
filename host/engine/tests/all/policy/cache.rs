//! The cache of compiled code: believed only if it can be, and never missed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use wipam_core::policy::Answer;
use wipam_engine::policy::{Compiler, InProcess, NoCompiler, Policies};

use super::guest::{NEXT_FREE, YOU_DECIDE, policy};
use super::trial::{Trial, request, view};

/// Counts how often it is asked.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl Compiler for Counting {
    fn compile(&self, component: &[u8]) -> Result<Vec<u8>, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        InProcess.compile(component)
    }
}

struct Cached {
    trial: Trial,
    compiled: Counting,
}

impl Cached {
    fn new() -> Self {
        let compiled = Counting::default();
        let trial = Trial::with_compiler(&policy(NEXT_FREE), compiled.clone());
        Self { trial, compiled }
    }

    /// Runs it as another process would, and says how often it was compiled.
    fn run(&self) -> usize {
        let before = self.compiled.0.load(Ordering::Relaxed);
        let answer = Policies::new(self.compiled.clone())
            .choose(
                &self.trial.network,
                &self.trial.setting,
                &request(),
                &view(),
                |_| {},
            )
            .unwrap();
        assert!(matches!(answer.answer, Answer::Candidates(_)));
        assert!(answer.by.contains("policy.wasm (sha256 "), "{}", answer.by);
        self.compiled.0.load(Ordering::Relaxed) - before
    }

    fn file(&self) -> PathBuf {
        let files = fs::read_dir(self.trial.cache()).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        let is_code = |file: &&PathBuf| file.extension().is_some_and(|end| end == "cwasm");
        let code: Vec<_> = files.iter().filter(is_code).collect();
        assert_eq!(code.len(), 1);
        code[0].clone()
    }

    /// The note of what is known of the component, if there is one.
    fn note(&self) -> Option<PathBuf> {
        let files = fs::read_dir(self.trial.cache()).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        files.find(|file| file.extension().is_some_and(|end| end == "known"))
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_was_compiled_once_is_not_compiled_again() {
    let cached = Cached::new();
    assert_eq!(cached.run(), 1);
    assert_eq!(cached.run(), 0);
    assert_eq!(mode(&cached.trial.cache()), 0o700);
    assert_eq!(mode(&cached.file()), 0o600);
    // Without a compiler it works as well, but only while it is there.
    let policies = Policies::new(NoCompiler);
    let choose = || {
        policies.choose(
            &cached.trial.network,
            &cached.trial.setting,
            &request(),
            &view(),
            |_| {},
        )
    };
    choose().unwrap();
    fs::write(&cached.trial.setting.component, policy(YOU_DECIDE)).unwrap();
    let text = choose().unwrap_err().to_string();
    assert!(
        text.contains("no compiled code of it in the cache"),
        "{text}"
    );
}

#[test]
fn a_component_that_is_known_is_not_read() {
    let cached = Cached::new();
    assert_eq!(cached.run(), 1);
    // It may yet be changed without its times showing it.
    assert_eq!(cached.note(), None);
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(cached.run(), 0);
    let note = cached.note().unwrap();
    assert_eq!(mode(&note), 0o600);

    let believed = || {
        let decided = Policies::new(NoCompiler).choose(
            &cached.trial.network,
            &cached.trial.setting,
            &request(),
            &view(),
            |_| {},
        );
        decided.map(|decision| decision.answer)
    };
    assert!(matches!(believed(), Ok(Answer::Candidates(_))));
    // Whoever believes a note with the digest of another one runs that one.
    let text = fs::read_to_string(&note).unwrap();
    let other = Trial::new(&policy(YOU_DECIDE));
    let mut setting = other.setting.clone();
    setting.cache = cached.trial.setting.cache.clone();
    let digest = other.policies.install(&setting).unwrap().digest;
    let own = cached.trial.policies.is_compiled(&cached.trial.setting);
    let own_digest = own.unwrap().0;
    let wrong = text.replace(&own_digest, &digest);
    assert_ne!(wrong, text);
    fs::write(&note, wrong).unwrap();
    assert_eq!(believed(), Ok(Answer::YouDecide));
    fs::write(&note, &text).unwrap();
    assert!(matches!(believed(), Ok(Answer::Candidates(_))));
    let component = fs::read(&cached.trial.setting.component).unwrap();
    // Another file, and then the same bytes, but not the file that was noted.
    fs::write(&cached.trial.setting.component, policy(YOU_DECIDE)).unwrap();
    assert_eq!(believed(), Ok(Answer::YouDecide));
    fs::write(&cached.trial.setting.component, component).unwrap();
    assert!(matches!(believed(), Ok(Answer::Candidates(_))));
    assert_eq!(fs::read_to_string(&note).unwrap(), text);

    // One that does not want to be told of releases is not even loaded for it.
    std::thread::sleep(Duration::from_millis(2100));
    assert!(believed().is_ok());
    fs::remove_file(
        fs::read_dir(cached.trial.cache())
            .unwrap()
            .map(|file| file.unwrap().path())
            .find(|file| file.to_string_lossy().contains(&own_digest))
            .unwrap(),
    )
    .unwrap();
    let told = Policies::new(NoCompiler).released(
        &cached.trial.network,
        &cached.trial.setting,
        &super::trial::notice(),
        |_| {},
    );
    assert_eq!(told, Ok(()));
    assert!(believed().is_err());
    assert_eq!(cached.run(), 1);

    // A note that is damaged, of others, or of another file is none.
    std::thread::sleep(Duration::from_millis(2100));
    for nonsense in ["", "{}", "null", &text[1..], &text.replace("known", "x")] {
        fs::write(&note, nonsense).unwrap();
        assert!(believed().is_ok(), "{nonsense}");
    }
    set_mode(&note, 0o666);
    assert!(believed().is_ok());
}

#[test]
fn a_changed_component_is_loaded_again_within_a_process() {
    let trial = Trial::new(&policy(NEXT_FREE));
    assert!(matches!(trial.choose(), Ok(Answer::Candidates(_))));
    fs::write(&trial.setting.component, policy(YOU_DECIDE)).unwrap();
    assert_eq!(trial.choose(), Ok(Answer::YouDecide));
}

#[test]
fn what_is_damaged_is_compiled_again() {
    let cached = Cached::new();
    cached.run();
    let whole = fs::read(cached.file()).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(cached.file(), damaged).unwrap();
        assert_eq!(cached.run(), 1, "{at}");
        assert_eq!(cached.run(), 0, "{at}");
    }
    for length in [0, 7, 100, whole.len() - 1] {
        fs::write(cached.file(), &whole[..length]).unwrap();
        assert_eq!(cached.run(), 1, "{length}");
    }
    assert_eq!(fs::read(cached.file()).unwrap(), whole);
}

#[test]
fn what_another_version_made_is_compiled_again() {
    let cached = Cached::new();
    cached.run();
    let mut other = fs::read(cached.file()).unwrap();
    // The key is text: the version of wasmtime stands in it.
    let version = b"wasmtime 48.";
    let at = other
        .windows(version.len())
        .position(|window| window == version)
        .unwrap();
    other[at + 9] = b'0';
    fs::write(cached.file(), other).unwrap();
    assert_eq!(cached.run(), 1);
}

#[test]
fn code_that_the_engine_refuses_is_compiled_again() {
    // Whole, and under the right key, but no code.
    struct Nonsense;
    impl Compiler for Nonsense {
        fn compile(&self, _: &[u8]) -> Result<Vec<u8>, String> {
            Ok(b"\x7fELF and so on".to_vec())
        }
    }
    let cached = Cached::new();
    let policies = Policies::new(Nonsense);
    policies.install(&cached.trial.setting).unwrap();
    let text = policies
        .choose(
            &cached.trial.network,
            &cached.trial.setting,
            &request(),
            &view(),
            |_| {},
        )
        .unwrap_err()
        .to_string();
    assert!(text.contains("could not be loaded"), "{text}");
    assert_eq!(cached.run(), 1);
    assert_eq!(cached.run(), 0);
}

#[test]
fn what_others_can_write_to_is_not_believed() {
    let cached = Cached::new();
    cached.run();
    for mode in [0o620, 0o602, 0o666] {
        set_mode(&cached.file(), mode);
        assert_eq!(cached.run(), 1, "{mode:o}");
        assert_eq!(cached.run(), 0, "what was written instead is good");
    }
    for mode in [0o720, 0o702, 0o1777] {
        set_mode(&cached.trial.cache(), mode);
        assert_eq!(cached.run(), 1, "{mode:o}");
        assert_eq!(cached.run(), 1, "{mode:o}");
    }
    set_mode(&cached.trial.cache(), 0o755);
    assert_eq!(cached.run(), 0);
}

#[test]
fn what_is_no_regular_file_is_not_followed() {
    let cached = Cached::new();
    cached.run();
    let file = cached.file();
    let elsewhere = cached.trial.cache().with_file_name("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(cached.run(), 1);
    assert_eq!(cached.run(), 0);
    assert!(
        elsewhere.exists(),
        "the link was replaced, not written through"
    );

    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(cached.run(), 1);
    assert_eq!(cached.run(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_to_only_slows_down() {
    let mut cached = Cached::new();
    cached.trial.setting.cache = "/dev/null/cache".into();
    assert_eq!(cached.run(), 1);
    assert_eq!(cached.run(), 1);
    let installed = cached
        .trial
        .policies
        .install(&cached.trial.setting)
        .unwrap();
    let why = installed.cached.unwrap_err();
    assert!(why.starts_with("/dev/null/cache: "), "{why}");
}

#[test]
fn installing_compiles_and_says_what_there_is() {
    let cached = Cached::new();
    let is_compiled = || {
        cached
            .trial
            .policies
            .is_compiled(&cached.trial.setting)
            .unwrap()
    };
    assert!(!is_compiled().1);
    let installed = cached
        .trial
        .policies
        .install(&cached.trial.setting)
        .unwrap();
    assert_eq!(installed.cached, Ok(cached.trial.cache()));
    assert_eq!(installed.digest.len(), 64);
    assert!(installed.compiled > installed.component);
    assert_eq!(is_compiled(), (installed.digest.clone(), true));
    assert!(cached.file().to_string_lossy().contains(&installed.digest));
    assert_eq!(cached.run(), 0);
}

#[test]
fn the_folder_is_bounded_and_what_is_used_stays() {
    let cached = Cached::new();
    cached.run();
    let file = cached.file();
    let age = |path: &Path, days: u64| {
        let time = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    for n in 0..100 {
        let other = cached.trial.cache().join(format!("{n}.cwasm"));
        fs::write(&other, "code").unwrap();
        age(&other, 10 + n);
    }
    let abandoned = cached.trial.cache().join(".new-1-x");
    fs::write(&abandoned, "co").unwrap();
    age(&abandoned, 1);
    // It was not used for long, and is now.
    age(&file, 1000);
    assert_eq!(cached.run(), 0);
    assert!(
        fs::metadata(&file)
            .unwrap()
            .modified()
            .unwrap()
            .elapsed()
            .unwrap()
            < Duration::from_secs(60)
    );

    let other = Trial::new(&policy(YOU_DECIDE));
    let mut setting = other.setting.clone();
    setting.cache = cached.trial.setting.cache.clone();
    other.policies.install(&setting).unwrap();
    let count = || {
        let files = fs::read_dir(cached.trial.cache()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".cwasm")).count()
    };
    assert_eq!(count(), 64);
    assert!(!abandoned.exists());
    assert!(cached.trial.cache().join("61.cwasm").exists());
    assert!(!cached.trial.cache().join("62.cwasm").exists());
    assert_eq!(cached.run(), 0);

    // Bytes are bounded as well: a file of holes counts as if it had none.
    let large = cached.trial.cache().join("0.cwasm");
    let file = File::options().write(true).open(&large).unwrap();
    file.set_len(256 << 20).unwrap();
    age(&large, 9);
    other.policies.install(&setting).unwrap();
    assert_eq!(count(), 2);
    assert_eq!(cached.run(), 0);
}
