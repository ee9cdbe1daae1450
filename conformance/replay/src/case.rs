//! The recorded cases.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use wipam_core::parameters::Invocation;

use crate::text::bytes;

/// A recorded case.
pub struct Case {
    /// `THEME/NAME`
    pub name: String,
    /// The case as it stands in its file.
    pub value: Value,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// One run of the plugin.
pub struct Step {
    /// The step as it stands in its file.
    pub value: Value,
    /// What the plugin is run with.
    pub invocation: Invocation,
}

/// Reads every case below a directory.
pub fn load(directory: &Path) -> io::Result<Vec<Case>> {
    let mut files: Vec<_> = fs::read_dir(directory)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let theme = file.file_stem().unwrap_or_default().to_string_lossy();
        for value in document["cases"].as_array().into_iter().flatten() {
            let name = format!("{theme}/{}", value["name"].as_str().unwrap_or_default());
            let steps = value["steps"].as_array().into_iter().flatten();
            let steps = steps.map(|step| Step {
                value: step.clone(),
                invocation: invocation(value, step),
            });
            cases.push(Case {
                name,
                value: value.clone(),
                steps: steps.collect(),
            });
        }
    }
    Ok(cases)
}

fn invocation(case: &Value, step: &Value) -> Invocation {
    let variable = |name: &str, default: Option<&Value>, otherwise: &str| {
        let value = step["env"].get(name).or(default);
        match value {
            None => otherwise.to_owned(),
            Some(value) => String::from_utf8_lossy(&bytes(value)).into_owned(),
        }
    };
    let netns = variable("CNI_NETNS", None, "/some/where");
    let override_ = variable("CNI_NETNS_OVERRIDE", None, "");
    let meant = override_ == "1" || override_.eq_ignore_ascii_case("true");
    let config = match (step.get("stdin"), step.get("conf").or(case.get("conf"))) {
        (Some(stdin), _) => bytes(stdin),
        (None, Some(conf)) => bytes(&Value::String(conf.to_string())),
        (None, None) => Vec::new(),
    };
    Invocation {
        command: variable("CNI_COMMAND", step.get("cmd"), ""),
        container_id: variable("CNI_CONTAINERID", step.get("id"), "c1"),
        interface_name: variable("CNI_IFNAME", step.get("if"), "eth0"),
        own_netns: netns == "/proc/self/ns/net" && !meant,
        netns,
        args: variable("CNI_ARGS", None, ""),
        path: variable("CNI_PATH", None, "/opt/cni/bin"),
        config,
    }
}

impl Case {
    /// Why the case needs a real file system or the native binary, if it does.
    pub fn needs_more(&self) -> Option<&'static str> {
        let any = |name: &str| self.steps.iter().any(|step| step.value.get(name).is_some());
        let inside = |name: &str, what: &str| {
            let text = |value: &Value| {
                value
                    .get(name)
                    .is_some_and(|v| v.to_string().contains(what))
            };
            text(&self.value) || self.steps.iter().any(|step| text(&step.value))
        };
        if self.value.get("sandbox").is_some() {
            Some("needs a mount name space")
        } else if any("fsize") {
            Some("limits the size of files")
        } else if any("modes") {
            Some("looks at file modes")
        } else if self
            .steps
            .iter()
            .any(|step| step.invocation.command.is_empty())
        {
            Some("is answered by the binary, not by the component")
        } else if inside("files", "${DATADIR}") || inside("files", "nowhere") {
            Some("follows symbolic links")
        } else if inside("files", "net/lock/") || inside("conf", "/file/x") {
            Some("has a file and a directory in each other's place")
        } else if inside("conf", "${PAD:300}") {
            Some("has a name too long for a file system")
        } else {
            None
        }
    }
}
