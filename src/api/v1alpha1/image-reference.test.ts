import { describe, expect, test } from 'vitest';
import { imageProblem } from './image-reference.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('an image reference (B02)', () => {
  test.each([
    'ubuntu',
    'ubuntu:24.04',
    'pytorch/pytorch:2.9.1-cuda12.9-cudnn9-runtime',
    'vllm/vllm-openai:v0.11.0',
    'ghcr.io/acme/server:latest',
    'GHCR.io/acme/server:Latest',
    'nvcr.io/nvidia/pytorch:25.10-py3',
    'registry.example:5000/team/image:tag',
    'localhost/image',
    'localhost:5000/image',
    'registry:5000/image:tag',
    'a.b-c.example/a__b/c--d/e.f_g:_x',
    `ubuntu@${DIGEST}`,
    `ghcr.io/acme/server:v1@${DIGEST}`,
    `image@sha512:${'f'.repeat(128)}`,
    'vastai/pytorch:@vastai-automatic-tag',
    'vastai/pytorch@vastai-automatic-tag',
    `${'a'.repeat(255)}:${'t'.repeat(128)}`,
  ])('is accepted when a registry can serve %s', (image) => {
    expect(imageProblem(image)).toBeUndefined();
  });

  test.each([
    ['https://ghcr.io/acme/server', 'without a scheme'],
    ['docker://ubuntu', 'without a scheme'],
    ['my image', 'without spaces'],
    ['image\n', 'without spaces'],
    ['Acme/server', 'in lower case'],
    ['ghcr.io/Acme/Server:latest', 'in lower case'],
    ['Ubuntu:24.04', 'in lower case'],
    ['ghcr.io/acme//server', 'between single slashes'],
    ['/server', 'between single slashes'],
    ['server/', 'between single slashes'],
    ['ghcr.io/acme/-server', 'between single slashes'],
    ['ghcr.io/acme/server_', 'between single slashes'],
    ['ghcr.io/acme/a...b', 'between single slashes'],
    ['@vastai-automatic-tag', 'between single slashes'],
    ['a'.repeat(256), 'at most 255 characters'],
    ['ubuntu:', 'complete the tag or digest'],
    ['ubuntu:.hidden', 'complete the tag or digest'],
    ['ubuntu:a:b', 'complete the tag or digest'],
    [`ubuntu:${'t'.repeat(129)}`, 'complete the tag or digest'],
    ['ubuntu@', 'complete the tag or digest'],
    ['ubuntu@sha256:abc', 'complete the tag or digest'],
    [`ubuntu@sha256:${'A'.repeat(64)}`, 'complete the tag or digest'],
    [`ubuntu@${DIGEST}:tag`, 'complete the tag or digest'],
    ['', '1 to 512 characters'],
    ['a'.repeat(513), '1 to 512 characters'],
  ])('is refused when no registry can serve %j (%s)', (image, says) => {
    expect(imageProblem(image)).toContain(says);
  });
});
