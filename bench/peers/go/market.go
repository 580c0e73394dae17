package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Row is a machine as the marketplace lists it.
type Row struct {
	ID            int64   `json:"id"`
	Label         string  `json:"label"`
	ActualStatus  string  `json:"actual_status"`
	SSHHost       string  `json:"ssh_host"`
	SSHPort       int     `json:"ssh_port"`
	PublicAddress string  `json:"public_ipaddr"`
	GPUName       string  `json:"gpu_name"`
	GPUCount      float64 `json:"num_gpus"`
}

// refused says that the marketplace declined: the call had no effect.
type refused struct{ status int }

func (r refused) Error() string { return fmt.Sprintf("the marketplace answered %d", r.status) }

func isRefused(err error) bool {
	var r refused
	return errors.As(err, &r)
}

func isGone(err error) bool {
	var r refused
	return errors.As(err, &r) && (r.status == http.StatusNotFound || r.status == http.StatusGone)
}

// Market is the client of the marketplace, its copy of the last list, and the offers that nobody has taken yet.
type Market struct {
	url, key string
	http     *http.Client
	paces    map[string]*rate.Limiter

	rows      sync.RWMutex
	byLabel   map[string]Row
	byID      map[int64]Row
	listBegun time.Time

	offers sync.Mutex
	free   []int64
	taken  map[int64]time.Time
}

// documented are the least pauses between two calls of one endpoint.
var documented = map[string]time.Duration{
	"list": time.Second, "search": 6 * time.Second, "rent": 4500 * time.Millisecond, "destroy": 3 * time.Second,
}

func newMarket(url, key string, connections int, paced bool) *Market {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if connections > 0 {
		transport.MaxIdleConnsPerHost = connections
	}
	m := &Market{
		url: url, key: key,
		http:  &http.Client{Transport: transport, Timeout: 30 * time.Second},
		paces: map[string]*rate.Limiter{},
		taken: map[int64]time.Time{},
	}
	if paced {
		for call, pause := range documented {
			m.paces[call] = rate.NewLimiter(rate.Every(pause), 1)
		}
	}
	return m
}

func (m *Market) call(ctx context.Context, kind, method, path string, body, reply any) error {
	if pace := m.paces[kind]; pace != nil {
		if err := pace.Wait(ctx); err != nil {
			return refused{}
		}
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, m.url+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+m.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := m.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 && response.StatusCode < 500 {
		_, _ = io.Copy(io.Discard, response.Body)
		return refused{response.StatusCode}
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d", method, path, response.StatusCode)
	}
	return json.NewDecoder(response.Body).Decode(reply)
}

// Poll lists all machines once and returns the labels of those whose row changed, appeared or went.
func (m *Market) Poll(ctx context.Context) ([]string, error) {
	begun := time.Now()
	var reply struct {
		Found     int   `json:"instances_found"`
		Instances []Row `json:"instances"`
	}
	if err := m.call(ctx, "list", http.MethodGet, "/api/v0/instances/", nil, &reply); err != nil {
		return nil, err
	}
	if reply.Found != len(reply.Instances) {
		return nil, fmt.Errorf("the list has %d rows of %d", len(reply.Instances), reply.Found)
	}
	byLabel, byID := make(map[string]Row, reply.Found), make(map[int64]Row, reply.Found)
	for _, row := range reply.Instances {
		byLabel[row.Label], byID[row.ID] = row, row
	}
	m.rows.Lock()
	before := m.byLabel
	m.byLabel, m.byID, m.listBegun = byLabel, byID, begun
	m.rows.Unlock()
	var changed []string
	for label, row := range byLabel {
		if before[label] != row {
			changed = append(changed, label)
		}
	}
	for label := range before {
		if _, listed := byLabel[label]; !listed {
			changed = append(changed, label)
		}
	}
	return changed, nil
}

// ByLabel and ByID look a machine up in the last list and say when that was begun.
func (m *Market) ByLabel(label string) (row Row, found bool, begun time.Time) {
	m.rows.RLock()
	defer m.rows.RUnlock()
	row, found = m.byLabel[label]
	return row, found, m.listBegun
}

func (m *Market) ByID(id int64) (row Row, found bool, begun time.Time) {
	m.rows.RLock()
	defer m.rows.RUnlock()
	row, found = m.byID[id]
	return row, found, m.listBegun
}

const reserveFor = time.Minute

// TakeOffer reserves the cheapest offer that nobody else of this process took; one search serves many objects.
func (m *Market) TakeOffer(ctx context.Context, maxPrice float64) (int64, error) {
	m.offers.Lock()
	defer m.offers.Unlock()
	if len(m.free) == 0 {
		if err := m.search(ctx, maxPrice); err != nil {
			return 0, err
		}
	}
	if len(m.free) == 0 {
		return 0, errors.New("no offer matches")
	}
	id := m.free[0]
	m.free = m.free[1:]
	m.taken[id] = time.Now()
	return id, nil
}

func (m *Market) search(ctx context.Context, maxPrice float64) error {
	var reply struct {
		Offers []struct {
			ID int64 `json:"id"`
		} `json:"offers"`
	}
	filters := map[string]any{
		"rentable":          map[string]any{"eq": true},
		"dph_total":         map[string]any{"lte": maxPrice},
		"allocated_storage": 10,
		"order":             [][]string{{"dph_total", "asc"}},
		"limit":             500,
	}
	if err := m.call(ctx, "search", http.MethodPost, "/api/v0/bundles/", filters, &reply); err != nil {
		return err
	}
	for id, at := range m.taken {
		if time.Since(at) > reserveFor {
			delete(m.taken, id)
		}
	}
	for _, offer := range reply.Offers {
		if _, isTaken := m.taken[offer.ID]; !isTaken {
			m.free = append(m.free, offer.ID)
		}
	}
	return nil
}

// Rent is sent once and never repeated: after an error that is no refusal the outcome is unknown.
func (m *Market) Rent(ctx context.Context, offer int64, label, image string) (int64, error) {
	var reply struct {
		NewContract int64 `json:"new_contract"`
	}
	body := map[string]any{"image": image, "disk": 10, "label": label, "runtype": "ssh"}
	if err := m.call(ctx, "rent", http.MethodPut, fmt.Sprintf("/api/v0/asks/%d/", offer), body, &reply); err != nil {
		return 0, err
	}
	return reply.NewContract, nil
}

func (m *Market) Destroy(ctx context.Context, id int64) error {
	var reply struct{}
	err := m.call(ctx, "destroy", http.MethodDelete, fmt.Sprintf("/api/v0/instances/%d/", id), nil, &reply)
	if isGone(err) {
		return nil
	}
	return err
}
