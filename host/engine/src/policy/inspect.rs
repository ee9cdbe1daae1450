//! What a component is, for whoever wants to make a policy of it.

use std::fmt;

use wasmtime::Engine;
use wasmtime::component::Component;

use super::{fit, settings};

/// A component, as a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Names of its imports.
    pub imports: Vec<String>,
    /// Those of them that no policy gets.
    pub not_granted: Vec<String>,
    /// Names of its exports.
    pub exports: Vec<String>,
    /// The world that it fits, or why it fits none.
    pub world: Result<World, String>,
}

/// The worlds that policies fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `policy`
    Policy,
    /// `policy-with-releases`
    PolicyWithReleases,
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy",
            Self::PolicyWithReleases => "policy-with-releases",
        })
    }
}

/// Describes a component. An error where it is none.
pub fn inspect(component: &[u8]) -> Result<Description, String> {
    let text = |error: wasmtime::Error| format!("{error:#}");
    fit::check(component)?;
    // For this very program: nothing of what is compiled here is kept.
    let config = settings::config(fit::is_composed(component));
    let engine = Engine::new(&config).map_err(text)?;
    let loaded = Component::new(&engine, component).map_err(text)?;
    let kind = loaded.component_type();
    let imports: Vec<_> = kind
        .imports(&engine)
        .map(|(name, _)| name.to_owned())
        .collect();
    let not_granted = imports.iter().filter(|name| !fit::is_granted(name));
    Ok(Description {
        not_granted: not_granted.cloned().collect(),
        exports: kind
            .exports(&engine)
            .map(|(name, _)| name.to_owned())
            .collect(),
        world: fit::exports(&engine, &loaded).map(|exports| match exports.released {
            Some(_) => World::PolicyWithReleases,
            None => World::Policy,
        }),
        imports,
    })
}
