import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { digestOf, readTar } from '../../scripts/image/debian-archive.ts';
import { compareVersions } from '../../scripts/image/debian-version.ts';
import { withoutSections } from '../../scripts/image/node-binary.ts';
import { type Entry, type Image, imageArchive, tarOf } from '../../scripts/image/oci.ts';
import { applicationLayer, baseLayer, configOf, nodeLayer } from '../../scripts/image/root-files.ts';

const OPTIONS = { reference: 'example.com/operator:1.2.3', createdAt: 1_700_000_000, main: 'arm64' } as const;
const layer = (text: string): readonly Entry[] => [{ path: 'app/a', mode: 0o444, content: text }];
const IMAGES: readonly Image[] = [
  { architecture: 'amd64', layers: [layer('base'), layer('one')], config: { User: '1:1' } },
  { architecture: 'arm64', layers: [layer('base'), layer('two')], config: { User: '1:1' } },
];

describe('an archive of images', () => {
  test('is the same bytes when it is made again', async () => {
    const [one, other] = await Promise.all([imageArchive(IMAGES, OPTIONS), imageArchive(IMAGES, OPTIONS)]);
    expect(digestOf(one.archive)).toBe(digestOf(other.archive));
  });

  test('names every blob by its digest, and keeps a layer once that both images have', async () => {
    const { archive } = await imageArchive(IMAGES, OPTIONS);
    const blobs = (await readTar(archive)).filter(({ path }) => path.startsWith('blobs/'));
    expect(blobs.map(({ path }) => path)).toEqual(
      blobs.map(({ content }) => `blobs/sha256/${digestOf(content)}`),
    );
    // Three layers, two configurations, two manifests, one index.
    expect(blobs).toHaveLength(8);
  });

  test('leads from the index over the manifest of each platform to its layers', async () => {
    const { archive, digest } = await imageArchive(IMAGES, OPTIONS);
    const files = new Map((await readTar(archive)).map(({ path, content }) => [path, content]));
    const blob = (of: string) => files.get(`blobs/sha256/${of.slice('sha256:'.length)}`) ?? Buffer.alloc(0);
    const root = JSON.parse(String(files.get('index.json')));
    expect(root.manifests[0]).toMatchObject({
      digest,
      annotations: { 'io.containerd.image.name': 'example.com/operator:1.2.3' },
    });
    const { manifests } = JSON.parse(String(blob(digest)));
    const platforms = manifests.map(({ platform }: { platform: object }) => platform);
    expect(platforms).toEqual([
      { architecture: 'amd64', os: 'linux' },
      { architecture: 'arm64', os: 'linux' },
    ]);
    const { layers, config } = JSON.parse(String(blob(manifests[1].digest)));
    const contents = layers.map((one: { digest: string }) => gunzipSync(blob(one.digest)));
    const { rootfs, created } = JSON.parse(String(blob(config.digest)));
    expect(rootfs.diff_ids).toEqual(contents.map((tar: Buffer) => `sha256:${digestOf(tar)}`));
    expect(created).toBe('2023-11-14T22:13:20Z');
    expect((await readTar(contents[1])).map(({ content }) => String(content))).toEqual(['two']);
  });

  test.for([
    ['localhost/pause:1', 'localhost/pause:1'],
    ['localhost:5000/operator:1', 'localhost:5000/operator:1'],
    ['team/operator:1', 'docker.io/team/operator:1'],
    ['operator:1', 'docker.io/library/operator:1'],
  ] as const)('names %s for containerd as %s', async ([reference, expected]) => {
    const { archive } = await imageArchive(IMAGES, { ...OPTIONS, reference });
    const files = new Map((await readTar(archive)).map(({ path, content }) => [path, content]));
    const { manifests } = JSON.parse(String(files.get('index.json')));
    expect(manifests[0].annotations['io.containerd.image.name']).toBe(expected);
  });

  test('has for Docker the image of the main platform', async () => {
    const { archive } = await imageArchive(IMAGES, OPTIONS);
    const files = new Map((await readTar(archive)).map(({ path, content }) => [path, content]));
    const [image] = JSON.parse(String(files.get('manifest.json')));
    expect(image.RepoTags).toEqual(['example.com/operator:1.2.3']);
    expect(JSON.parse(String(files.get(image.Config)))).toMatchObject({ architecture: 'arm64' });
  });
});

test('a tar has every folder before what is in it', async () => {
  const tar = await tarOf([
    { path: 'b/c/d', mode: 0o644, content: 'x' },
    { path: 'a', mode: 0o777, link: 'b' },
  ]);
  const names = Array.from({ length: 4 }, (_, index) =>
    tar.toString('latin1', index * 512, index * 512 + 100),
  );
  expect(names.map((name) => name.replace(/\0.*$/s, ''))).toEqual(['a', 'b/', 'b/c/', 'b/c/d']);
});

describe('the files of the image', () => {
  const file = (path: string) => ({ path, mode: 0o644, content: Buffer.from('x') });
  const libc = {
    name: 'libc6',
    control: 'Package: libc6\n',
    files: [
      ...['usr/lib/x86_64-linux-gnu/libc.so.6', 'usr/lib/x86_64-linux-gnu/gconv/UTF-16.so', 'usr/bin/ldd'],
      ...['usr/share/doc/libc6/copyright', 'usr/share/doc/libc6/changelog.gz'],
    ].map(file),
  };

  test('are libraries, licenses and what scanners read, and no program but Node', () => {
    const paths = baseLayer([libc], 'amd64').map(({ path }) => path);
    expect(paths).toContain('usr/lib/x86_64-linux-gnu/libc.so.6');
    expect(paths).toContain('usr/share/doc/libc6/copyright');
    expect(paths).toContain('var/lib/dpkg/status.d/libc6');
    expect(paths.filter((path) => /bin\/|gconv|changelog/.test(path))).toEqual([]);
    const node = nodeLayer({ version: '1', binary: Buffer.from('x'), license: Buffer.from('y') });
    expect(node.map(({ path }) => path)).toEqual(['nodejs/bin/node', 'nodejs/LICENSE']);
  });

  test('cannot be written by whom the container runs as', () => {
    const all = [
      ...baseLayer([libc], 'amd64'),
      ...applicationLayer(new Map([['gpu-rent.mjs', Buffer.from('x')]])),
    ];
    const writable = all.filter(
      ({ mode, link, path }) => link === undefined && (mode & 0o002) !== 0 && path !== 'tmp/',
    );
    expect(writable).toEqual([]);
    expect(configOf({})).toMatchObject({ User: '65532:65532', Cmd: ['operator'] });
  });
});

describe('a program without its section table', () => {
  function program(): Buffer {
    const elf = Buffer.alloc(64 + 56 + 100);
    elf.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
    elf.writeBigUInt64LE(64n, 32);
    elf.writeBigUInt64LE(180n, 40);
    elf.writeUInt16LE(56, 54);
    elf.writeUInt16LE(1, 56);
    elf.writeUInt16LE(3, 60);
    elf.writeBigUInt64LE(120n, 64 + 8);
    elf.writeBigUInt64LE(50n, 64 + 32);
    return elf;
  }

  test('ends with its last segment and names no sections', () => {
    const shorter = withoutSections(program());
    expect(shorter).toHaveLength(170);
    expect([shorter.readBigUInt64LE(40), shorter.readUInt16LE(60)]).toEqual([0n, 0]);
  });

  test('is refused when it is no such program', () => {
    expect(() =>
      withoutSections(Buffer.from('#!/bin/sh and more text than a header has, really, so it is long')),
    ).toThrow('no ELF program');
  });
});

test.each([
  ['1.0-1', '1.0-2'],
  ['1.9', '1.10'],
  ['1.0~rc1', '1.0'],
  ['2.41-12', '2.41-12+deb13u5'],
  ['9:1', '10:0.1'],
  ['1.0', '1.0a'],
  ['1.0a', '1.0+'],
])('Debian takes %s for older than %s', (older, newer) => {
  expect(compareVersions(older, newer)).toBeLessThan(0);
  expect(compareVersions(newer, older)).toBeGreaterThan(0);
  expect(compareVersions(older, older)).toBe(0);
});
