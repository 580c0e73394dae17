import { describe, expect, test } from 'vitest';
import { openedPorts, readEnv } from './container-options.ts';

describe('a string of container flags', () => {
  test.each([
    ['variables and ports', '-e A=b -p 8080:8080', { A: 'b', '-p 8080:8080': '1' }],
    ['a quoted value', '-e "GREETING=hello world"', { GREETING: 'hello world' }],
    [
      'quotes inside a word',
      `-e GREETING="hello world" -e NAME='a "b"'`,
      { GREETING: 'hello world', NAME: 'a "b"' },
    ],
    ['a flag without a value', '--privileged -p 8080:8080', { '--privileged': '1', '-p 8080:8080': '1' }],
    ['a flag without a value before a word', '--rm image -e A=b', { '--rm': '1', A: 'b' }],
    ['an unknown flag before another', '--odd -e A=b', { '--odd': '1', A: 'b' }],
    ['a flag at the end', '-e A=b --odd', { A: 'b', '--odd': '1' }],
    ['values behind an equals sign', '--env=A=b --publish=53:53/udp', { A: 'b', '-p 53:53/udp': '1' }],
    ['values written to the flag', '-eA=b -p80:80', { A: 'b', '-p 80:80': '1' }],
    ['long names', '--env A=b --volume x:/y --network n', { A: 'b', '-v x:/y': '1', '-n n': '1' }],
    ['a host name', '--hostname bob', { '-h': 'bob' }],
    ['a variable without a value', '-e A', { A: '' }],
    ['an equals sign in a value', '-e A=b=c', { A: 'b=c' }],
    ['a quote that does not end', '-e A="b c', { A: '"b' }],
  ])('%s', (_, text, expected) => {
    expect(readEnv(text)).toEqual(expected);
  });

  test('opens the ports that it publishes', () => {
    expect(openedPorts(readEnv('--privileged -p 8080:8080 --publish=53:53/udp'))).toEqual([
      '8080/tcp',
      '53/udp',
    ]);
  });
});
