import { describe, expect, test } from 'vitest';
import { Secret } from '../../lib/secret.ts';
import { imageLogin } from './rental.ts';

const config = (auths: unknown) => JSON.stringify({ auths });
const basic = (text: string) => Buffer.from(text).toString('base64');
const NO_CONFIG = expect.stringMatching(
  /^\.dockerconfigjson is not a docker configuration with auths; make the Secret with kubectl/,
);
const NO_CREDENTIALS =
  'The login for registry.example in .dockerconfigjson has no user name and password; give it both, without blanks, quotes, backslashes and control characters.';

/** Logins by server; user name and server are one, so that the user tells whose login was taken. */
const loginsFor = (...servers: readonly string[]) =>
  config(Object.fromEntries(servers.map((server) => [server, { username: server, password: 'p' }])));

describe('the registry of an image', () => {
  test.each([
    ['ubuntu', 'docker.io'],
    ['ubuntu:22.04', 'docker.io'],
    ['docker.io', 'docker.io'],
    ['team/app:1.2', 'docker.io'],
    ['team/localhost', 'docker.io'],
    ['docker.io/team/app', 'docker.io'],
    ['localhost', 'docker.io'],
    ['localhosts/app', 'docker.io'],
    ['my-localhost/app', 'docker.io'],
    ['localhost/app', 'localhost'],
    ['localhost:5000/app', 'localhost:5000'],
    ['registry:5000/app', 'registry:5000'],
    ['registry.example/app', 'registry.example'],
    ['registry.example/team/app@sha256:0', 'registry.example'],
    ['registry.example:443/team/app:1', 'registry.example:443'],
    ['[::1]:5000/app', '[::1]:5000'],
  ])('%s comes from %s', (image, registry) => {
    const servers = ['docker.io', 'localhost', 'localhost:5000', 'registry:5000', 'registry.example'];
    const text = loginsFor(...servers, 'registry.example:443', '[::1]:5000');
    expect(imageLogin(text, image)).toEqual(loginOf(registry, 'p', registry));
  });
});

/** Returns the login that an image gets from a Secret. */
function loginOf(username: string, password: string, host: string) {
  return { type: 'login', login: { host, username, password: new Secret(password) } };
}

test.each([
  { username: '_json_key', password: '{"type": "service_account"}' },
  { auth: Buffer.from('_json_key:{"type": "service_account"}').toString('base64') },
])('B23: the JSON key of a service account is refused with the user to write', (entry) => {
  const config = JSON.stringify({ auths: { 'gcr.io': entry } });
  const login = imageLogin(config, 'gcr.io/team/app:1');
  expect(login).toMatchObject({
    type: 'problem',
    problem: expect.stringContaining('Use the user _json_key_base64'),
  });
  expect(JSON.stringify(login)).not.toContain('service_account');
});

describe('a login is found', () => {
  test.each([
    ['registry.example', 'registry.example/app'],
    ['registry.example/v1/', 'registry.example/app'],
    ['http://registry.example', 'registry.example/app'],
    ['https://registry.example', 'registry.example/app'],
    ['https://registry.example/v2/', 'registry.example/app'],
    ['http://registry.example:5000/v1/', 'registry.example:5000/app'],
    ['docker.io', 'ubuntu'],
    ['index.docker.io', 'ubuntu'],
    ['registry-1.docker.io', 'ubuntu'],
    ['https://index.docker.io/v1/', 'docker.io/team/app'],
    ['https://registry-1.docker.io/v2/', 'team/app'],
    ['https://index.docker.io/v1/', 'index.docker.io/team/app'],
    ['registry-1.docker.io', 'registry-1.docker.io/team/app'],
    ['Registry.Example', 'registry.example/app'],
    ['registry.example', 'Registry.Example/app'],
    ['registry.example/team', 'registry.example/team/app'],
    ['registry.example/team/', 'registry.example/team/app'],
    ['registry.example/team/app', 'registry.example/team/app:1.2'],
    ['registry.example/team/app', 'registry.example/team/app@sha256:0'],
    ['registry.example/v2/team', 'registry.example/team/app'],
    ['registry.example/v1', 'registry.example/app'],
  ])('under %s for %s', (server, image) => {
    expect(imageLogin(loginsFor('other.example', server), image)).toMatchObject({
      type: 'login',
      login: expect.objectContaining({ username: server }),
    });
  });

  test.each([
    ['https://registry.example', 'registry.example:5000/app', 'registry.example:5000'],
    ['registry.example:5000', 'registry.example/app', 'registry.example'],
    ['sub.registry.example', 'registry.example/app', 'registry.example'],
    ['mirror.example/registry.example', 'registry.example/app', 'registry.example'],
    ['ftp://registry.example', 'registry.example/app', 'registry.example'],
    ['mirrorhttps://.example', 'mirror.example/app', 'mirror.example'],
    ['docker.io.example', 'ubuntu', 'docker.io'],
    ['registry.example/team-a', 'registry.example/team-b/app', 'registry.example'],
    ['registry.example/team', 'registry.example/team-b/app', 'registry.example'],
    ['registry.example/v3/team', 'registry.example/team/app', 'registry.example'],
    ['', 'ubuntu', 'docker.io'],
  ])('under "%s" not for %s', (server, image, registry) => {
    const problem = `.dockerconfigjson has no login for ${registry}; add it to auths.`;
    expect(imageLogin(loginsFor(server), image)).toEqual({ type: 'problem', problem });
  });
});

describe('of several logins', () => {
  test.each([
    [
      'the one of the longest path counts',
      ['r.example', 'r.example/team-a', 'r.example/team-b'],
      'r.example/team-b',
    ],
    ['one of another path does not', ['r.example/team-a', 'r.example'], 'r.example'],
  ])('%s', (_, servers, taken) => {
    expect(imageLogin(loginsFor(...servers), 'r.example/team-b/x')).toMatchObject({
      login: { username: taken, host: 'r.example' },
    });
  });

  test('one that is empty, as a credential store leaves it behind, hides none', () => {
    const auths = { 'https://index.docker.io/v1/': {}, 'docker.io': { auth: basic('a:b') } };
    expect(imageLogin(config(auths), 'ubuntu')).toEqual(loginOf('a', 'b', 'docker.io'));
  });

  test('one that is broken spoils none for another registry', () => {
    const auths = { 'other.example': { auth: null }, 'r.example': { auth: basic('a:b') } };
    expect(imageLogin(config(auths), 'r.example/x')).toEqual(loginOf('a', 'b', 'r.example'));
  });
});

describe('user name and password', () => {
  test.each([
    ['their own fields', { username: 'a', password: 'b' }, 'a', 'b'],
    ['one word', { auth: basic('a:b') }, 'a', 'b'],
    ['one word, in which the password has colons', { auth: basic('a:b::c:') }, 'a', 'b::c:'],
    ['one word in UTF-8', { auth: basic('jürgen:größe') }, 'jürgen', 'größe'],
    ['fields beside others', { username: 'a', password: 'b', email: 'a@example' }, 'a', 'b'],
    [
      'the word, where fields say something else',
      { username: 'c', password: 'd', auth: basic('a:b') },
      'a',
      'b',
    ],
    ['the word beside empty fields', { username: '', password: '', auth: basic('a:b') }, 'a', 'b'],
    ['fields beside an empty word', { username: 'a', password: 'b', auth: '' }, 'a', 'b'],
    ['the word without the zeros that end it', { auth: basic('a:b\0\0') }, 'a', 'b'],
  ])('are taken out of %s', (_, entry, username, password) => {
    expect(imageLogin(config({ 'registry.example': entry }), 'registry.example/x')).toEqual(
      loginOf(username, password, 'registry.example'),
    );
  });

  test.each([
    ['is nothing', {}],
    ['is no user name', { password: 'secret' }],
    ['is no password', { username: 'secret' }],
    ['is an empty user name', { username: '', password: 'secret' }],
    ['is an empty password', { username: 'secret', password: '' }],
    ['is a word without a colon', { auth: basic('secret') }],
    ['is a word without a user name', { auth: basic(':secret') }],
    ['is a word without a password', { auth: basic('secret:') }],
    ['is an empty word', { auth: '' }],
    ['is a blank in the user name', { username: 'secret x', password: 'b' }],
    ['is a blank in the password', { username: 'a', password: 'secret -v' }],
    ['is a tab', { username: 'a', password: 'secret\tx' }],
    ['is a line end behind the word', { auth: basic('a:secret\n') }],
    ['is a text', 'secret'],
    ['is null', null],
    ['is a password that is a number', { username: 'a', password: 1234 }],
  ])('are missed, and no value is named, where there %s', (_, entry) => {
    expect(imageLogin(config({ 'registry.example': entry }), 'registry.example/x')).toEqual({
      type: 'problem',
      problem: NO_CREDENTIALS,
    });
  });
});

describe('what is no docker configuration', () => {
  test.each([
    ['nothing', ''],
    ['no JSON', '{"auths":{"registry.example":{"password":"secret"'],
    ['no object', '"secret"'],
    ['null', 'null'],
    ['logins without auths, as in .dockercfg', JSON.stringify({ 'registry.example': { auth: 'c2VjcmV0' } })],
    ['auths that are a list', config(['secret'])],
  ])('is reported without naming a value: %s', (_, text) => {
    expect(imageLogin(text, 'registry.example/x')).toEqual({ type: 'problem', problem: NO_CONFIG });
  });

  test('is not what has more than auths', () => {
    const text = JSON.stringify({
      auths: { 'registry.example': { username: 'a', password: 'b' } },
      credsStore: 'desktop',
    });
    expect(imageLogin(text, 'registry.example/x').type).toBe('login');
  });
});

describe('a login that would change the line of flags', () => {
  test.each([
    ['a NUL', 'a\u0000b'],
    ['an escape', 'a\u001b[2J'],
    ['a double quote', 'a"b'],
    ['a single quote', "a'b"],
    ['a backtick', 'a`b'],
    ['a backslash', 'a\\b'],
    ['a newline', 'a\nb'],
    ['a lone surrogate', 'a\ud800'],
    ['a first dash', '-v'],
    ['more than 8192 characters', 'x'.repeat(8193)],
  ])('is refused when a value holds %s (C1)', (_what, value) => {
    const refused = { type: 'problem', problem: NO_CREDENTIALS };
    const login = (username: string, password: string) =>
      imageLogin(config({ 'registry.example': { username, password } }), 'registry.example/app');
    expect(login(value, 'p')).toEqual(refused);
    expect(login('u', value)).toEqual(refused);
  });

  test('is taken when a token is long and of any other printable character', () => {
    const password = `${'x'.repeat(4000)}!#$%&()*+,-./:;<=>?@[]^_{|}~é`;
    expect(
      imageLogin(config({ 'registry.example': { username: 'u', password } }), 'registry.example/app'),
    ).toEqual(loginOf('u', password, 'registry.example'));
  });
});
