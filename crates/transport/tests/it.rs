//! Both ends of the queue pair over pipes, sockets and sources that misbehave.

#[cfg(test)]
mod it {
    mod events;
    mod heap;
    mod samples;
    mod submissions;
}
