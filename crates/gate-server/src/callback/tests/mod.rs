//! Callbacks from the outbox to real receivers on this machine.

mod delivery;
mod order;
mod receiver;
mod refusals;
mod scene;
