'use strict';
// The page of what is followed. Whatever comes from packets is put into the page as text: no string becomes markup anywhere here.
(() => {
  const SVG = 'http://www.w3.org/2000/svg';
  const PERIOD = 1000, RETRY = 2000, PATIENCE = 8000, STALLED = 15000;
  const ROWS = 200, FINDINGS = 100;
  const SIGNS = {
    'readable now': ['is-readable', '◉', 0],
    'vulnerable': ['is-vulnerable', '✕', 1],
    'not observable': ['is-hidden', '?', 2],
    'not seen': ['is-unseen', '–', 2],
    'quantum-safe': ['is-safe', '✓', 3],
  };
  const SEVERITIES = ['critical', 'high', 'medium'];
  const byId = (id) => document.getElementById(id);

  const element = (tag, className, ...content) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    for (const one of content) {
      if (one !== null && one !== undefined) made.append(one);
    }
    return made;
  };
  const drawn = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const sign = (verdict) => SIGNS[verdict] || ['is-unseen', '–', 2];
  const chip = (verdict) => {
    const made = element('span', 'verdict-chip ' + sign(verdict)[0], sign(verdict)[1]);
    made.setAttribute('aria-hidden', 'true');
    return made;
  };
  const says = (verdict) => element('span', sign(verdict)[0], chip(verdict), element('span', 'says', verdict));
  // These and no others, in this order: what has its place stays untouched, with its focus and what is opened in it.
  const arrange = (place, wanted) => {
    const kept = new Set(wanted);
    for (const one of [...place.children]) if (!kept.has(one)) one.remove();
    wanted.forEach((one, index) => {
      if (place.children[index] !== one) place.insertBefore(one, place.children[index] || null);
    });
  };
  const count = (number, unit) => number.toLocaleString() + ' ' + unit + (number === 1 ? '' : 's');
  // With its day: findings stand for weeks.
  const CLOCK = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const time = (nanoseconds) => CLOCK.format(nanoseconds / 1e6);
  const rank = (link) => sign(link.confidentiality)[2] * 8 + sign(link.authenticity)[2] * 2 + (link.severity ? 0 : 1);
  const nameOf = (link) => (link.interface || (link.service ? 'tcp/' + link.service : 'unnamed')) + ' ' + link.ends.join(' – ') + (link.path ? ' in ' + link.path : '');
  const endOf = (link, index) => link.ends[index] + (link.functions[index].length ? ' · ' + link.functions[index].join(', ') : '');

  let run = null, version = null, mapVersion = null, map = null;
  let frameworks = {}, sources = [], counts = [], chosen = null, detail = null, filter = null, current = null;
  let paused = false, ended = null, timer = null, asking = null, failedSince = null, age = 0;
  const links = new Map(), findings = new Map(), tiles = new Map(), edges = new Map(), groups = new Map(), articles = new Map();
  // How many links of two ends are drawn.
  const drawnOf = new Map();

  // What was given before is to be forgotten.
  const forget = () => {
    for (const kept of [links, findings, tiles, edges, drawnOf, groups, articles]) kept.clear();
    for (const place of ['links', 'findings', 'handshakes', 'events', 'drawing']) byId(place).replaceChildren();
    [chosen, detail, current, ended] = [null, null, null, null];
    showDetail();
  };

  const ask = async () => {
    if (asking) return;
    const known = run === null ? '' : 'run=' + run + '&version=' + version + '&map=' + mapVersion;
    const looked = chosen === null ? '' : '&link=' + chosen;
    asking = new AbortController();
    const late = setTimeout(() => asking.abort(), PATIENCE);
    let next = PERIOD;
    try {
      const answer = await fetch('/state?' + known + looked, { cache: 'no-store', signal: asking.signal });
      if (!answer.ok) throw new Error(String(answer.status));
      await take(await answer.json());
      failedSince = null;
      // What was chosen meanwhile is asked for at once.
      if (chosen !== null && !detail) next = 200;
    } catch (error) {
      failedSince = failedSince || new Date();
      next = RETRY;
    }
    clearTimeout(late);
    asking = null;
    showStatus();
    if (!paused && !document.hidden) timer = setTimeout(ask, next);
  };
  const askNow = () => {
    clearTimeout(timer);
    ask();
  };

  // Each part of the page is changed in a frame of its own: together they would take longer than one.
  const frame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  const take = async (state) => {
    if (state.whole) forget();
    [run, version, sources, age] = [state.run, state.version, state.sources, state.age_ms];
    if (state.frameworks) frameworks = state.frameworks;
    for (const id of state.links_gone) {
      links.delete(id);
      if (chosen === id) chosen = null;
    }
    // A link that looks as it did needs no frame.
    const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
    const altered = state.links.filter((link) => !same(link, links.get(link.id)));
    for (const link of altered) links.set(link.id, link);
    const counted = !same(state.counts, counts);
    for (const id of state.findings_gone) {
      findings.delete(id);
      articles.delete(id);
    }
    for (const finding of state.findings) {
      findings.set(finding.id, finding);
      articles.delete(finding.id);
    }
    if (state.map) {
      map = state.map;
      edges.clear();
      drawnOf.clear();
      byId('drawing').replaceChildren();
    }
    mapVersion = state.map_version;
    counts = state.counts;
    if (counted || state.whole) {
      showAnswer();
      showInterfaces();
    }
    if (altered.length > 0 || state.links_gone.length > 0 || state.map) {
      await frame();
      showLinks(altered, state.links_gone);
      await frame();
      showMap(altered, state.links_gone);
      await frame();
    }
    if (state.whole || state.findings.length > 0 || state.findings_gone.length > 0) showFindings(state.findings_total);
    if (chosen === null || (state.detail && state.detail.id === chosen)) {
      detail = chosen === null ? null : state.detail;
      showDetail();
    }
    await frame();
    prepend(byId('handshakes'), state.handshakes.map(handshakeRow));
    byId('handshakes-total').textContent = count(state.handshakes_total, 'handshake') + ' since the beginning, the newest first.';
    prepend(byId('events'), state.events.map(eventRow));
    byId('events-total').textContent = count(state.events_total, 'event') + ' since the beginning, the newest first.';
    for (const event of state.events) if (event.event === 'end') ended = event.words;
  };

  const showStatus = () => {
    let words = 'Live.';
    if (failedSince) {
      words = 'No answer since ' + failedSince.toLocaleTimeString() + (ended ? ': the inspection has ended (' + ended + ').' : '; asking again.');
    } else if (ended) words = 'Ended: ' + ended + '.';
    else if (paused) words = 'Paused. What is shown is not what is now.';
    else if (age > STALLED) words = 'As it was at ' + time((Date.now() - age) * 1e6) + ': the inspection has published nothing since.';
    const status = byId('status');
    if (status.textContent !== words) status.textContent = words;
    status.className = words === 'Live.' ? 'live-now' : 'stale';
    byId('sources').replaceChildren(...sources.map((source) => {
      let said = source.name + ': ' + count(source.packets, 'packet');
      if (source.newest_ns) said += ', the newest of ' + time(source.newest_ns);
      const lost = [];
      if (source.dropped) lost.push(count(source.dropped, 'packet') + ' lost at the capture');
      if (source.untracked) lost.push(count(source.untracked, 'packet') + ' beyond memory');
      return element('li', '', said, lost.length ? element('b', 'is-vulnerable says', ', ' + lost.join(', ')) : null);
    }));
  };

  const tally = (of, verdicts) => counts.filter((one) => verdicts.includes(one[of])).reduce((sum, one) => sum + one.links, 0);

  const showAnswer = () => {
    const total = counts.reduce((sum, one) => sum + one.links, 0);
    const place = byId('answer');
    if (total === 0) {
      place.replaceChildren(element('span', 'by', 'Answer'), 'No link has carried anything yet.');
      return;
    }
    const unknown = ['not observable', 'not seen'];
    const said = (of, words) => words
      .map(([verdicts, what]) => [tally(of, verdicts), what])
      .filter(([number]) => number > 0)
      .flatMap(([number, what], index) => [index ? ', ' : '', element('strong', '', number.toLocaleString()), ' ' + what]);
    place.replaceChildren(
      element('span', 'by', 'Answer'), 'Of ', element('strong', '', total.toLocaleString()), total === 1 ? ' link: ' : ' links: ',
      ...said('confidentiality', [[['readable now'], 'can be read now'], [['vulnerable'], 'can be harvested now and decrypted later'],
        [unknown, 'nobody can tell'], [['quantum-safe'], 'withstand a recorder by all that is known']]),
      '. Of their identities: ',
      ...said('authenticity', [[['vulnerable', 'readable now'], 'can be forged'], [unknown, 'nobody can tell'],
        [['quantum-safe'], 'withstand a forger by all that is known']]), '.');
  };

  const showInterfaces = () => {
    const all = new Map();
    for (const one of counts) {
      const known = all.get(one.interface) || { links: 0, worst: 3, verdict: 'quantum-safe' };
      const worst = sign(one.confidentiality)[2];
      known.links += one.links;
      if (worst < known.worst) [known.worst, known.verdict] = [worst, one.confidentiality];
      all.set(one.interface, known);
    }
    const place = byId('interfaces');
    const held = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const button = (name, shown, of, verdict) => {
      const made = element('button', 'interface', verdict ? chip(verdict) : null, shown + ' ', element('span', 'number', of.toLocaleString()));
      made.type = 'button';
      made.dataset.name = name === null ? '' : name;
      made.setAttribute('aria-pressed', String(filter === name));
      made.addEventListener('click', () => {
        filter = name;
        showInterfaces();
        applyFilter();
      });
      return made;
    };
    // What has no button would hide everything, and nothing would say so.
    if (filter !== null && !all.has(filter)) {
      filter = null;
      applyFilter();
    }
    const total = counts.reduce((sum, one) => sum + one.links, 0);
    place.replaceChildren(button(null, 'All', total, null),
      ...[...all].sort().map(([name, of]) => button(name, name === '-' ? 'unnamed' : name, of.links, of.verdict)));
    if (held !== null) for (const one of place.children) if (one.dataset.name === held) one.focus();
  };
  const isShown = (link) => filter === null || (link !== undefined && (link.interface || '-') === filter);
  const applyFilter = () => {
    for (const [id, tile] of tiles) tile.hidden = !isShown(links.get(id));
    for (const [name, group] of groups) group.hidden = filter !== null && name !== filter;
    for (const [id, edge] of edges) edge.classList.toggle('off', !isShown(links.get(id)));
    reach();
    showFindings(findingsTotal);
  };

  const choose = (id) => {
    chosen = id;
    detail = null;
    for (const [other, tile] of tiles) tile.setAttribute('aria-current', String(other === id));
    for (const [other, edge] of edges) edge.classList.toggle('chosen', other === id);
    showDetail();
    // In one column the evidence is far below.
    if (matchMedia('(max-width: 60rem)').matches) byId('detail-heading').scrollIntoView();
    askNow();
  };

  const fill = (tile, link) => {
    tile.replaceChildren(
      element('span', 'pair', chip(link.confidentiality), chip(link.authenticity)),
      element('span', 'ends', endOf(link, 0) + ' – ' + endOf(link, 1) + (link.path ? ' in ' + link.path : '')),
      element('span', 'because', link.kinds.join(', ') + (link.key_exchange === '-' ? '' : ', ' + link.key_exchange)
        + (link.in_file === false ? ', not in the deployment file' : '')));
    tile.setAttribute('aria-label', nameOf(link) + ': recording ' + link.confidentiality + ', forgery ' + link.authenticity
      + (link.severity ? ', finding: ' + link.severity : ''));
    tile.hidden = !isShown(link);
  };

  const showLinks = (changed, gone) => {
    const place = byId('links');
    for (const id of gone) {
      if (tiles.has(id)) tiles.get(id).remove();
      tiles.delete(id);
    }
    const touched = new Set();
    for (const link of changed) {
      let tile = tiles.get(link.id);
      if (!tile) {
        tile = element('button', 'link-tile');
        tile.type = 'button';
        tile.tabIndex = -1;
        tile.dataset.id = link.id;
        tile.setAttribute('aria-current', 'false');
        tile.addEventListener('click', () => {
          setCurrent(tile);
          choose(link.id);
        });
        tiles.set(link.id, tile);
      }
      fill(tile, link);
      touched.add(link.interface || '-');
    }
    for (const name of touched) {
      if (!groups.has(name)) {
        const group = element('div', 'group', element('h3', '', name === '-' ? 'Interface not named' : name), element('div', 'tiles'));
        group.hidden = filter !== null && filter !== name;
        groups.set(name, group);
      }
      const inside = [...links.values()].filter((link) => (link.interface || '-') === name);
      inside.sort((one, other) => rank(one) - rank(other) || one.id - other.id);
      const held = document.activeElement;
      arrange(groups.get(name).lastChild, inside.map((link) => tiles.get(link.id)));
      if (held && held.classList.contains('link-tile') && held !== document.activeElement) held.focus({ preventScroll: true });
    }
    for (const [name, group] of groups) if (!group.lastChild.firstChild) groups.delete(name);
    const order = [...groups.keys()].sort((one, other) => (one === '-') - (other === '-') || one.localeCompare(other));
    arrange(place, order.map((name) => groups.get(name)));
    reach();
    const total = counts.reduce((sum, one) => sum + one.links, 0);
    byId('links-beyond').textContent = total > links.size ? count(total - links.size, 'further link') + ' not shown here, none of them worse.' : '';
  };

  // One link can be reached by the tab key; from there arrow keys go on.
  const setCurrent = (tile) => {
    if (current) current.tabIndex = -1;
    current = tile;
    if (current) current.tabIndex = 0;
  };
  const reach = () => {
    if (!current || !current.isConnected || current.hidden) setCurrent(byId('links').querySelector('.link-tile:not([hidden])'));
  };
  byId('links').addEventListener('keydown', (pressed) => {
    const all = [...byId('links').querySelectorAll('.link-tile')].filter((tile) => !tile.hidden);
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[pressed.key];
    if (to === undefined || at < 0 || !all[to]) return;
    pressed.preventDefault();
    setCurrent(all[to]);
    all[to].focus();
  });

  const strokes = (edge, link) => {
    edge.firstChild.setAttribute('class', 'stroke ' + sign(link.confidentiality)[0]);
    edge.children[1].setAttribute('class', 'stroke ' + sign(link.authenticity)[0]);
    edge.lastChild.textContent = nameOf(link) + ': recording ' + link.confidentiality + ', forgery ' + link.authenticity;
    edge.classList.toggle('off', !isShown(link));
    edge.classList.toggle('chosen', link.id === chosen);
  };

  const showMap = (changed, gone) => {
    if (!map) return;
    const place = byId('drawing');
    const places = new Map(map.nodes.map((node) => [node.name, node]));
    for (const id of gone) {
      if (edges.has(id)) edges.get(id).remove();
      edges.delete(id);
    }
    let svg = place.firstChild;
    if (!svg) {
      svg = drawn('svg', { class: 'plot', viewBox: '0 0 ' + Math.max(map.width, 40) + ' ' + Math.max(map.height, 40) });
      svg.append(drawn('g', { class: links.size > 70 ? 'fine' : 'broad' }), drawn('g', {}));
      for (const node of map.nodes) svg.lastChild.append(host(node));
      place.append(svg);
      changed = links.values();
    }
    for (const link of changed) {
      const [one, other] = link.ends.map((end) => places.get(end));
      if (!one || !other) continue;
      if (!edges.has(link.id)) {
        const edge = edgeOf(link, one, other);
        edge.addEventListener('click', () => choose(link.id));
        edges.set(link.id, edge);
        svg.firstChild.append(edge);
      }
      strokes(edges.get(link.id), link);
    }
    const left = links.size - edges.size;
    byId('drawn').textContent = 'Of the two strokes of a link the upper (or left) one is recording, the lower (or right) one forgery.'
      + (left > 0 ? ' ' + count(left, 'link') + ' not drawn, for want of room: the list has them.' : '');
  };

  const edgeOf = (link, one, other) => {
    const edge = drawn('g', { class: 'link edge' });
    const [dx, dy] = [other.x - one.x, other.y - one.y];
    const length = Math.hypot(dx, dy);
    // Links of the same two ends are bent apart.
    const pair = [...link.ends].sort().join(' ');
    const earlier = drawnOf.get(pair) || 0;
    drawnOf.set(pair, earlier + 1);
    const bend = (earlier % 2 ? 1 : -1) * Math.ceil(earlier / 2) * 26;
    const turn = dx < 0 || (Math.abs(dx) < 1 && dy > 0) ? -1 : 1;
    for (const apart of [2.2, -2.2]) {
      let path;
      if (length < 1) {
        path = 'M' + (one.x - 12 - apart) + ' ' + one.y + 'q' + (12 + apart) + ' ' + (-70 - bend) + ' ' + (24 + 2 * apart) + ' 0';
      } else {
        const [nx, ny] = [dy / length * turn, -dx / length * turn];
        const at = (x, y, by) => (x + nx * by).toFixed(1) + ' ' + (y + ny * by).toFixed(1);
        path = 'M' + at(one.x, one.y, apart) + 'Q' + at(one.x + dx / 2, one.y + dy / 2, apart + 2 * bend) + ' ' + at(other.x, other.y, apart);
      }
      edge.append(drawn('path', { d: path }));
    }
    edge.append(drawn('title', {}));
    return edge;
  };

  const host = (node) => {
    const group = drawn('g', { class: 'node' });
    const text = drawn('text', { class: 'host-name' });
    text.textContent = node.name;
    if (node.width !== null) {
      group.append(drawn('rect', { class: 'host', x: node.x - node.width / 2, y: node.y - 13, width: node.width, height: 26, rx: 13 }));
      for (const [name, value] of Object.entries({ x: node.x, y: node.y + 4.5, 'text-anchor': 'middle' })) text.setAttribute(name, value);
    } else {
      const over = Math.abs(((node.outward % 360) + 540) % 360 - 180) > 90;
      group.append(drawn('circle', { class: 'host', cx: node.x, cy: node.y, r: 4.5 }));
      text.setAttribute('transform', 'translate(' + node.x + ' ' + node.y + ') rotate(' + (over ? node.outward + 180 : node.outward) + ')');
      text.setAttribute('x', over ? -9 : 9);
      text.setAttribute('y', 4.5);
      text.setAttribute('text-anchor', over ? 'end' : 'start');
    }
    group.append(text);
    return group;
  };

  const asked = (about) => {
    if (!about || !frameworks[about]) return null;
    const list = frameworks[about].map((one) => element('li', '', element('b', '', one.name), ' (' + one.edition + '): ' + one.asks));
    return element('details', '', element('summary', '', 'Asked by ' + frameworks[about].map((one) => one.name).join(', ')), element('ul', '', ...list));
  };
  const whatToDo = (finding) => [
    element('p', 'remedy', 'Remedy: ' + finding.remedy),
    ...(finding.changes || []).map((change) => element('p', 'change', 'in ' + change.file + ': ', element('code', '', change.entry))),
    finding.command ? element('p', 'change', 'command: ', element('code', '', finding.command)) : null,
  ].filter(Boolean);
  const evidence = (list) => element('span', 'places', list && list.length ? ' ' + list.join(', ') : '');

  let findingsTotal = 0;
  const showFindings = (total) => {
    findingsTotal = total;
    const shown = [...findings.values()].filter((finding) => filter === null || !finding.link || (finding.link.interface || '-') === filter);
    const order = (finding) => SEVERITIES.indexOf(finding.severity);
    shown.sort((one, other) => order(one) - order(other) || other.id - one.id);
    const place = byId('findings');
    const articleOf = (finding) => {
      if (!articles.has(finding.id)) {
        articles.set(finding.id, element('article', 'finding ' + finding.severity,
          element('p', '', element('b', 'severity', finding.severity), ' ' + finding.concern + (finding.link ? ': ' + nameOf(finding.link) : '')
            + (finding.source && sources.length > 1 ? ' (' + finding.source + ')' : ''), element('span', 'since', ' since ' + time(finding.at_ns))),
          element('p', '', finding.because, evidence(finding.sources)), ...whatToDo(finding), asked(finding.about)));
      }
      return articles.get(finding.id);
    };
    arrange(place, shown.slice(0, FINDINGS).map(articleOf));
    if (shown.length === 0) place.append(element('p', 'meta', filter === null ? 'None.' : 'None of this interface.'));
    const left = filter === null ? total - Math.min(shown.length, FINDINGS) : shown.length - Math.min(shown.length, FINDINGS);
    byId('findings-beyond').textContent = left > 0 ? count(left, 'further finding') + ' stand, none of them more severe.' : '';
  };

  const showDetail = () => {
    const place = byId('detail');
    const link = links.get(chosen);
    if (!link) {
      place.replaceChildren(element('p', 'meta', 'Choose a link, on the map or in the list.'));
      return;
    }
    const made = [element('h3', '', nameOf(link)), element('p', 'meta', link.kinds.join(', ') + ' · key exchange ' + link.key_exchange)];
    if (detail) {
      const block = (axis, said) => element('div', sign(said.verdict)[0], element('b', '', axis), ': ', says(said.verdict), element('br'),
        said.because, element('br'), evidence(said.sources));
      made.push(element('div', 'verdicts', block('Recording', detail.confidentiality), block('Forgery', detail.authenticity)),
        element('p', 'meta', detail.packets.join(' and ') + ' packets there and back, ' + detail.bytes.join(' and ') + ' bytes; last packet '
          + time(detail.last_ns) + (detail.in_ledger ? '; ' + detail.in_ledger + ' known to a ledger' : '')));
      if (detail.exception) made.push(element('p', '', element('b', '', 'Let through: '), detail.exception));
      for (const objection of detail.objections) {
        made.push(element('article', 'finding ' + objection.severity,
          element('p', '', element('b', 'severity', objection.severity), ' ' + objection.concern + ': ' + objection.because, evidence(objection.sources)),
          ...whatToDo(objection), asked(objection.about)));
      }
      made.push(element('h4', '', 'What it was first, and what it became'), phaseLines(detail.phases), phaseTable(detail));
    } else {
      made.push(element('p', 'meta', 'Asking for its evidence.'));
    }
    place.replaceChildren(...made);
  };

  const phaseLines = (phases) => {
    const width = 600, row = 18;
    const first = Math.min(...phases.map((phase) => phase.first_ns)), last = Math.max(...phases.map((phase) => phase.last_ns));
    const x = (at) => last > first ? (at - first) / (last - first) * (width - 4) : 0;
    const svg = drawn('svg', { class: 'plot phases', viewBox: '0 0 ' + width + ' ' + (phases.length * row + 16), 'aria-hidden': 'true' });
    phases.forEach((phase, index) => {
      const [from, to] = [x(phase.first_ns), x(phase.last_ns)];
      const bar = (y, verdict) => svg.append(drawn('rect', { class: 'chip ' + sign(verdict)[0], x: from, y: index * row + y, width: Math.max(to - from, 4), height: 6, rx: 1 }));
      bar(1, phase.confidentiality);
      bar(8, phase.authenticity);
    });
    const label = (at, anchor, words) => {
      const text = drawn('text', { class: 'tick', x: at, y: phases.length * row + 12, 'text-anchor': anchor });
      text.textContent = words;
      svg.append(text);
    };
    label(0, 'start', time(first));
    if (last > first) label(width, 'end', time(last));
    return svg;
  };
  const phaseTable = (of) => {
    const table = element('table', '', element('tbody', '', ...of.phases.map((phase) => element('tr', '',
      element('td', '', time(phase.first_ns) + ' to ' + time(phase.last_ns)),
      element('td', '', phase.occasion + ', ' + phase.kind + (phase.key_exchange ? ', ' + phase.key_exchange : '')),
      element('td', '', says(phase.confidentiality)), element('td', '', says(phase.authenticity)),
      element('td', 'number', count(phase.parts, 'time') + (phase.rekeys ? ', ' + count(phase.rekeys, 'rekey') : ''))))));
    return element('div', 'wide', table, of.beyond_phases ? element('p', 'meta', of.beyond_phases + ' of further kinds are left out.') : null);
  };

  const handshakeRow = (one) => element('tr', '',
    element('td', '', time(one.began_ns)), element('td', '', one.ends.join(' → ')), element('td', '', one.kind + ', ' + one.occasion),
    element('td', '', one.key_exchange || '–'), element('td', '', says(one.confidentiality), element('span', 'because', ' ' + one.because)),
    element('td', '', says(one.authenticity)));
  const eventRow = (one) => element('tr', '',
    element('td', '', time(one.at_ns)), element('td', '', one.event), element('td', '', one.link ? nameOf(one.link) : one.source || ''),
    element('td', '', one.words));
  // Rows in the order in which they came: the newest goes on top, the oldest go.
  const prepend = (place, rows) => {
    place.prepend(...rows.reverse());
    while (place.children.length > ROWS) place.lastChild.remove();
  };

  byId('pause').addEventListener('click', () => {
    paused = !paused;
    byId('pause').textContent = paused ? 'Go on' : 'Pause';
    byId('pause').setAttribute('aria-pressed', String(paused));
    showStatus();
    if (!paused) askNow();
    else clearTimeout(timer);
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && !paused) askNow();
  });
  ask();
})();
