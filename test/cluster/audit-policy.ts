/** Audit policy that omits the requests of the servers themselves, which no test checks. */
export const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: ['system:apiserver', 'test-controllers']
  - level: None
    nonResourceURLs: ['/healthz*', '/livez*', '/readyz*', '/version', '/openapi/*']
  - level: Metadata
`;
