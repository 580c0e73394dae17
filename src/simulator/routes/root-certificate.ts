import type { Route } from '../calls/route.ts';
import { endpoint } from './endpoint.ts';

/**
 * A self-signed certificate for clients that load one before anything else. Its private key was thrown
 * away: simulated workers are reached without TLS.
 */
const ROOT_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDKTCCAhGgAwIBAgIUV4F5w1KpfGYoRWKWf7jlhcz22IwwDQYJKoZIhvcNAQEL
BQAwJDEiMCAGA1UEAwwZR1BVIHJlbnRhbCBzaW11bGF0b3Igcm9vdDAeFw0yNjEx
MjEwMjQ2NDRaFw00NjExMTYwMjQ2NDRaMCQxIjAgBgNVBAMMGUdQVSByZW50YWwg
c2ltdWxhdG9yIHJvb3QwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDK
BMZQUgowGls/pY0JT5PgMfPzdn8one2dIYVbJEtgZmEICU77v2T6gcsTUm5szqHs
yP0eLRm/KTwMlu/4I2ZoutER3jBE90HMCwrZylxKCvrxNuaOErMIaRQITVKZVGq0
yWlVcvvex5UqudnJ99RmWP/n5R3w+ZG+qynYVpI6R7Yx5PMlaX3IAcj84Gz6/gem
YKHzSkZlV4qqvOnYmPYPdofIw23h1/mgeRm299cRfuYaYkSWELVip+clfBPNaKZD
ZzE/MfKe+KEKNgzEV/3xRfoemzcj53IFiDo/5ZkDwOuhGN21okctZtjhiJU2Fdec
CkB9ASDZLVYXAta8GFeZAgMBAAGjUzBRMB0GA1UdDgQWBBRZpWrM3oP/MCaKkxNB
1oJwkWTfmjAfBgNVHSMEGDAWgBRZpWrM3oP/MCaKkxNB1oJwkWTfmjAPBgNVHRMB
Af8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQDCCr2vuQ3glHQ/AKjOuxPLxdz5
l4NFNvlcWCx2QZs8ka5A3WIyHBGkQJ4MzGCk6hhT07c2ivjw1BCoadXSd8hrMpam
/ruq46KmEYValJyvoO8vHiXg6f/BeE4vjsIJOQGomctyI/+b5VrCalkAAOhUg6y+
Zjvqu/OL4qGbnw9JZ5POcMUOopBwWFa+R7I7HTtRjcMn97Bi5jQUp2fvj1IyFdnY
h2Q0IiDgfI4s7qWU6mD5mX+mC2S9IPsBKbTkHXSgXQzzMOV/2LGRDTLPd8vEoCjI
PPKutbYQGUexuuVedjhIA4uB+Kj+589fvSGkUmNAVufCJzTqV9Qt1qwZL1J4
-----END CERTIFICATE-----
`;

export const rootCertificateRoutes: readonly Route[] = [
  endpoint('GET /static/jvastai_root.cer', { category: null, access: 'open' }, () => ({
    type: 'text',
    status: 200,
    body: ROOT_CERTIFICATE,
    contentType: 'application/x-x509-ca-cert',
  })),
];
