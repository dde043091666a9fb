// SPDX-License-Identifier: Apache-2.0
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let authority = reqwest::Certificate::from_pem(&std::fs::read(&words[3])?)?;
    let mut builder = reqwest::blocking::Client::builder().add_root_certificate(authority);
    if words[1] == "http1" {
        builder = builder.http1_only();
    }
    println!("{}", builder.build()?.get(format!("https://{}/", words[2])).send()?.text()?);
    Ok(())
}
