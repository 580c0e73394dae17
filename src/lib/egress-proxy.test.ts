import { describe, expect, test } from 'vitest';
import { environmentProxy, mayUseProxy, ProxySettingsError, singleProxy } from './egress-proxy.ts';

type Environment = Record<string, string>;

describe('the proxy of an environment', () => {
  test.for<[string, Environment, string, boolean]>([
    ['is used for https by HTTPS_PROXY', { HTTPS_PROXY: 'http://p:1' }, 'https://a.example', true],
    ['is not used for https by HTTP_PROXY', { HTTP_PROXY: 'http://p:1' }, 'https://a.example', false],
    ['is used for http by HTTP_PROXY', { HTTP_PROXY: 'http://p:1' }, 'http://a.example', true],
    ['may lack its scheme', { HTTPS_PROXY: 'p:3128' }, 'https://a.example', true],
    [
      'is not used for a network of NO_PROXY',
      { HTTPS_PROXY: 'p:1', NO_PROXY: '10.0.0.0/8' },
      'https://10.96.0.1',
      false,
    ],
    ['is used for other addresses', { HTTPS_PROXY: 'p:1', NO_PROXY: '10.0.0.0/8' }, 'https://11.0.0.1', true],
    ['is not used for IPv6 loopback', { HTTPS_PROXY: 'p:1' }, 'https://[::1]:8443', false],
    ['is not used for localhost', { HTTPS_PROXY: 'p:1' }, 'https://localhost:8443', false],
  ])('%s', ([, environment, origin, expected]) => {
    const settings = environmentProxy(environment);
    expect(settings && mayUseProxy(settings, new URL(origin))).toBe(expected);
  });

  test('is none without variables, and prefers those in lower case', () => {
    expect(environmentProxy({ NO_PROXY: '*' })).toBeUndefined();
    expect(environmentProxy({ HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:1' })?.https).toBe(
      'http://b:1/',
    );
  });

  test.for<[Environment, string]>([
    [
      { HTTPS_PROXY: 'socks5://user:hush@p:1080' },
      'HTTPS_PROXY is no address of a proxy: write it as http://HOST:PORT',
    ],
    [{ HTTPS_PROXY: 'p:1', NO_PROXY: '10.0.0.0/x' }, 'NO_PROXY: "10.0.0.0/x" is no network'],
  ])('is refused without its value if it cannot be used: %o', ([environment, message]) => {
    expect(() => environmentProxy(environment)).toThrow(ProxySettingsError);
    expect(() => environmentProxy(environment)).toThrow(message);
    expect(() => environmentProxy(environment)).not.toThrow(/hush/);
  });

  test('of a kubeconfig takes every server', () => {
    const settings = singleProxy('proxy-url of cluster c', 'https://proxy.example:8443');
    expect(mayUseProxy(settings, new URL('https://10.0.0.1'))).toBe(true);
    expect(() => singleProxy('proxy-url of cluster c', 'ftp://x')).toThrow('proxy-url of cluster c');
  });
});
