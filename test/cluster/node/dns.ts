import type { AdminClient } from '../admin-client.ts';
import { DNS_IMAGE } from './settings.ts';

const NAME = 'coredns';
const NAMESPACE = 'kube-system';
const LABELS = { 'k8s-app': 'kube-dns' };
const PORT = 5353;

const COREFILE = `.:${PORT} {
    errors
    health :8080
    ready :8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 5
    }
    cache 5
}
`;

const PERMISSIONS = {
  rules: [
    { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ],
};

const BINDING = {
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `system:${NAME}` },
  subjects: [{ kind: 'ServiceAccount', namespace: NAMESPACE, name: NAME }],
};

const POD = {
  serviceAccountName: NAME,
  // Its own questions go nowhere: there is no other DNS server.
  dnsPolicy: 'Default',
  priorityClassName: 'system-cluster-critical',
  // It is scheduled while the node gets ready, not a moment later.
  tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' }],
  containers: [
    {
      name: NAME,
      image: DNS_IMAGE,
      imagePullPolicy: 'Never',
      args: ['-conf', '/etc/coredns/Corefile'],
      readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
      volumeMounts: [{ name: 'settings', mountPath: '/etc/coredns' }],
    },
  ],
  volumes: [{ name: 'settings', configMap: { name: NAME } }],
};

const DEPLOYMENT = {
  replicas: 1,
  selector: { matchLabels: LABELS },
  template: { metadata: { labels: LABELS }, spec: POD },
};

/** Makes the cluster's DNS server; it answers once its Deployment is available. */
export async function createDns(admin: AdminClient, address: string): Promise<void> {
  const metadata = { name: NAME, labels: LABELS };
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const core = `/api/v1/namespaces/${NAMESPACE}`;
  const cluster = { metadata: { name: `system:${NAME}` } };
  const ports = [
    { name: 'dns', port: 53, targetPort: PORT, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, targetPort: PORT, protocol: 'TCP' },
  ];
  const objects: readonly (readonly [string, object])[] = [
    [`${rbac}/clusterroles`, { ...cluster, ...PERMISSIONS }],
    [`${rbac}/clusterrolebindings`, { ...cluster, ...BINDING }],
    [`${core}/serviceaccounts`, { metadata }],
    [`${core}/configmaps`, { metadata, data: { Corefile: COREFILE } }],
    [
      `${core}/services`,
      {
        metadata: { name: 'kube-dns', labels: LABELS },
        spec: { clusterIP: address, selector: LABELS, ports },
      },
    ],
    [`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, { metadata, spec: DEPLOYMENT }],
  ];
  for (const [path, body] of objects) await admin.request({ method: 'POST', path, body, accept: [409] });
}

/** API path of the Deployment of {@link createDns}. */
export const DNS_DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${NAME}`;
