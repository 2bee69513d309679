"use strict";

const PACKAGES = { "linux x64": "firstbyte-linux-x64", "linux arm64": "firstbyte-linux-arm64" };

/** The path of the executable for this machine. */
exports.executable = function executable() {
  const platform = `${process.platform} ${process.arch}`;
  const name = PACKAGES[platform];
  if (!name) throw new Error(`there is no firstbyte for \`${platform}\`, only for Linux on x64 and arm64`);
  try {
    return require.resolve(`${name}/firstbyte`);
  } catch {
    throw new Error(`\`${name}\` is missing, an optional dependency\nhelp: npm install --include=optional firstbyte`);
  }
};
