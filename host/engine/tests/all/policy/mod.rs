//! Policies: what they get, what they may use, and what is left of them.

mod answers;
mod cache;
mod fit;
mod guest;
mod hostile;
mod nested;
mod peak;
mod store;
mod trial;
