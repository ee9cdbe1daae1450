//! The main job, step by step, for a person to follow.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::setup;
use crate::shell::{self, cargo, root, target_dir};

struct Demo {
    binary: PathBuf,
    data: PathBuf,
    config: String,
}

pub(crate) fn run() -> Outcome {
    setup::wasm_target()?;
    println!("building host-local (the first time takes some minutes)");
    shell::run(cargo().args(["build", "--locked", "--package", "wipam-cni"]))?;
    let binary = target_dir().join("debug/host-local");
    let data = tempfile::tempdir()?;
    let config = format!(
        r#"{{ "cniVersion": "1.1.0", "name": "demo",
  "ipam": {{ "type": "host-local", "dataDir": "{}",
            "ranges": [ [ {{ "subnet": "10.88.0.0/24" }} ], [ {{ "subnet": "fd00:88::/64" }} ] ],
            "routes": [ {{ "dst": "0.0.0.0/0" }} ] }} }}"#,
        data.path().display()
    );
    let demo = Demo {
        binary,
        data: data.path().to_owned(),
        config,
    };
    demo.tell()
}

impl Demo {
    fn tell(&self) -> Outcome {
        println!(
            "\nA container runtime runs host-local with this on standard input:\n\n{}",
            self.config
        );
        self.step(
            "A container is started: one address from each range set.",
            "ADD",
            "web",
            None,
        )?;
        self.step(
            "A second one: the search goes on where it stopped.",
            "ADD",
            "db",
            None,
        )?;
        self.step(
            "Does web still hold its addresses? No output means yes.",
            "CHECK",
            "web",
            None,
        )?;
        self.step(
            "Would another ADD work? No output means yes.",
            "STATUS",
            "",
            None,
        )?;
        self.step(
            "db died without a DEL. The runtime lists what is alive; GC frees the rest.",
            "GC",
            "",
            Some(r#""cni.dev/valid-attachments": [ { "containerID": "web", "ifname": "eth0" } ]"#),
        )?;
        self.step("web is stopped.", "DEL", "web", None)?;
        println!(
            "\nThat was {}, on a directory that the Go plugin can use as well.",
            show(&self.binary)
        );
        Ok(())
    }

    fn step(&self, what: &str, command: &str, container: &str, more: Option<&str>) -> Outcome {
        println!("\n--- {what}");
        let mut shown = format!("CNI_COMMAND={command}");
        let mut process = Command::new(&self.binary);
        process
            .env_clear()
            .env("CNI_COMMAND", command)
            .env("CNI_PATH", "/opt/cni/bin");
        if !container.is_empty() {
            process
                .env("CNI_CONTAINERID", container)
                .env("CNI_NETNS", format!("/run/netns/{container}"))
                .env("CNI_IFNAME", "eth0");
            shown.push_str(&format!(" CNI_CONTAINERID={container} CNI_IFNAME=eth0"));
        }
        println!("$ {shown} host-local < demo.conf");
        let config = match more {
            None => self.config.clone(),
            Some(more) => {
                println!("  with {more}");
                self.config.replacen('{', &format!("{{ {more},"), 1)
            }
        };
        let mut child = process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.binary.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(config.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        print!("{}", String::from_utf8_lossy(&output.stdout));
        print!("{}", String::from_utf8_lossy(&output.stderr));
        println!("exit status {}", output.status.code().unwrap_or(-1));
        self.files()?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{command} failed").into())
        }
    }

    fn files(&self) -> Outcome {
        let network = self.data.join("demo");
        let mut lines = Vec::new();
        for entry in fs::read_dir(&network)? {
            let entry = entry?;
            let content = String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", " ");
            lines.push(format!(
                "  demo/{:<20} {content}",
                entry.file_name().to_string_lossy()
            ));
        }
        lines.sort();
        println!("files:");
        lines.iter().for_each(|line| println!("{line}"));
        Ok(())
    }
}

fn show(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}
