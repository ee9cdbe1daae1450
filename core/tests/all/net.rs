//! One network as those see it who attach containers to it, with a clock.

use std::net::IpAddr;

use wipam_core::parameters::Invocation;

use crate::model::invocation;
use crate::world::{Refused, World};

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| ip(text)).collect()
}

/// `CNI_ARGS` of a pod.
pub(crate) fn pod(name: &str) -> String {
    format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=d;K8S_POD_NAME={name}")
}

pub(crate) struct Net {
    pub(crate) world: World,
    /// The members of `ipam`.
    pub(crate) ipam: String,
    /// More members of the configuration, each with a comma in front.
    pub(crate) top: String,
    now_ms: u64,
    pub(crate) seed: u64,
}

impl Net {
    pub(crate) fn new(ipam: &str) -> Self {
        let net = Self {
            world: World::default(),
            ipam: ipam.to_owned(),
            top: String::new(),
            now_ms: 1_800_000_000_000,
            seed: 1,
        };
        net.wait_ms(0)
    }

    fn wait_ms(mut self, ms: u64) -> Self {
        self.pass(ms);
        self
    }

    /// Lets time pass, in milliseconds.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.world.store.set_inputs(self.now_ms, self.seed);
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    pub(crate) fn invocation(&self, command: &str, container: &str, args: &str) -> Invocation {
        let config = format!(
            r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{{}}}{}}}"#,
            self.ipam, self.top
        );
        let (container, interface) = match container.split_once(' ') {
            Some(both) => both,
            None => (container, "eth0"),
        };
        let mut invocation = invocation(command, container, interface, config.into_bytes());
        invocation.args = args.to_owned();
        invocation
    }

    pub(crate) fn run(&mut self, command: &str, container: &str, args: &str) -> Answer {
        let invocation = self.invocation(command, container, args);
        self.seed += 1;
        self.pass(0);
        self.world.run(&invocation)
    }

    /// The address of an ADD that succeeds and takes one. A container may be
    /// named with an interface behind a blank.
    pub(crate) fn add(&mut self, container: &str, args: &str) -> IpAddr {
        let given = self.run("ADD", container, args);
        match given.as_deref() {
            Ok([address]) => *address,
            _ => panic!("{container} {args}: {given:?}"),
        }
    }

    /// All addresses that are given to containers of this prefix until no more
    /// can be had, and why.
    pub(crate) fn fill(&mut self, prefix: &str) -> (Vec<IpAddr>, Refused) {
        let mut given = Vec::new();
        loop {
            match self.run("ADD", &format!("{prefix}{}", given.len()), "") {
                Ok(addresses) => given.extend(addresses),
                Err(refused) => return (given, refused),
            }
            assert!(given.len() <= 4096, "more than there are");
        }
    }

    pub(crate) fn refused(&mut self, container: &str, args: &str) -> Refused {
        self.run("ADD", container, args).unwrap_err()
    }

    pub(crate) fn del(&mut self, container: &str) {
        self.run("DEL", container, "").unwrap();
    }

    /// The code of STATUS; 0 is success.
    pub(crate) fn status(&mut self) -> u64 {
        self.run("STATUS", "", "").map_or_else(|r| r.code, |_| 0)
    }

    pub(crate) fn held(&self) -> Vec<IpAddr> {
        self.world.store.contents().reserved.into_keys().collect()
    }
}

pub(crate) type Answer = Result<Vec<IpAddr>, Refused>;
