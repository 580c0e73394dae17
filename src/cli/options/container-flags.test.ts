import { describe, expect, test } from 'vitest';
import { containerFlags } from './container-flags.ts';

const tcp = (port: number) => ({ port, protocol: 'tcp' });

describe('--env (B17)', () => {
  test.each<[string, readonly string[], ReturnType<typeof containerFlags>]>([
    ['a variable', ['A=b c'], { variables: ['A=b c'], ports: [] }],
    ['a name alone', ['HF_TOKEN'], { variables: ['HF_TOKEN'], ports: [] }],
    [
      "the form of the marketplace's documentation",
      ['-e A=b -p 8000:8000'],
      { variables: ['A=b'], ports: [{ port: 8000, protocol: 'tcp' }] },
    ],
    [
      'quotes, long flags and values that are written into the flag',
      [`-e "A=b c" --env=B='d e' -eC=f --publish 53:53/udp -p8080 -p 127.0.0.1:1:2`],
      {
        variables: ['A=b c', 'B=d e', 'C=f'],
        ports: [{ port: 53, protocol: 'udp' }, tcp(8080), tcp(2)] as never,
      },
    ],
    ['an identity port (B15)', ['-p 70000:70000'], { variables: [], ports: [tcp(70_000)] as never }],
    ['both forms', ['A=1', '-e B=2', 'C=3'], { variables: ['A=1', 'B=2', 'C=3'], ports: [] }],
  ])('accepts %s', (_, values, expected) => {
    expect(containerFlags(values)).toEqual(expected);
  });

  test.each([
    ['-v /a:/b', '--env: "-v" is not understood in "-v /a:/b"'],
    ['-e A=b stray', '"stray" is not understood'],
    ['-e', '-e at the end of "-e" has no value'],
    ['-p 80:web', '--env: -p: "web" is not a whole number from 1 to 79999'],
    ['-p 65536', '--env: -p: "65536" is no port.'],
    ['-p 69999', '--env: -p: "69999" is no port.'],
    ['-p 80000', 'is not a whole number from 1 to 79999'],
    ['-p 80:80/sctp', '"80/sctp" is neither /tcp nor /udp'],
    ['--toString=x', '"--toString=x" is not understood'],
  ])('refuses %s and says why', (value, message) => {
    expect(() => containerFlags([value])).toThrow(message);
  });
});
