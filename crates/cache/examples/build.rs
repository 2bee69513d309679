//! Makes a build once, and finds it from then on: `FIRSTBYTE_CACHE=DIR cargo run --example build`.

use firstbyte_cache::BuildCache;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let lock = BuildCache::of_user("example")?.lock("hello", || false)?;
    if let Some(entry) = lock.entry("key") {
        println!("found: {}", entry.display());
        return Ok(());
    }
    std::fs::write(lock.staging()?.join("hello"), "built\n")?;
    println!("built: {}", lock.seal("key")?.display());
    Ok(())
}
