//! The page in headless Chromium: it opens without an error, and everything on it works.

mod accessibility;
#[path = "../integration/html/documents.rs"]
mod documents;
mod large;

use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Input};
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The sections of a page of one document of each kind.
const SECTIONS: [&str; 10] = [
    "summary",
    "programs",
    "distributions",
    "timelines",
    "diff",
    "floor",
    "throughput",
    "elf",
    "claims",
    "about",
];

/// How long something may take on a busy machine.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(120);

/// A page in its own browser, and the browser's complaints.
struct Opened {
    _browser: Browser,
    tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

/// The `firstbyte` of this build of the workspace.
fn firstbyte() -> PathBuf {
    let deps = env::current_exe().unwrap();
    let firstbyte = deps.parent().and_then(Path::parent).unwrap().join("firstbyte");
    assert!(firstbyte.exists(), "`{}` does not exist\nhelp: cargo build", firstbyte.display());
    firstbyte
}

/// Writes the documents and one page of all of them.
fn page(folder: &Path, documents: &[(&str, Value)]) {
    for (name, document) in documents {
        std::fs::write(folder.join(name), document.to_string()).unwrap();
    }
    let names = documents.iter().map(|(name, _)| name);
    let mut command = Command::new(firstbyte());
    command.args(["report", "-o", "page.html"]).args(names).current_dir(folder);
    assert!(command.status().unwrap().success());
}

/// Reports that this machine cannot run a check. With `FIRSTBYTE_REQUIRE=all` that is a failure.
#[track_caller]
fn skipped(reason: &str) {
    assert!(env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"), "skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// Opens the page of these documents; `None` if there is no Chromium.
fn open(documents: &[(&str, Value)]) -> Option<Opened> {
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), documents);
    open_page_in(folder)
}

/// Opens `page.html` of a folder.
fn open_page_in(folder: tempfile::TempDir) -> Option<Opened> {
    let chromium = Path::new("/usr/bin/chromium");
    if !chromium.exists() {
        skipped("no /usr/bin/chromium: firstbyte doctor --install --tests");
        return None;
    }
    // Chromium has no sandbox as root, containers have a small /dev/shm, and nothing may be fetched.
    let arguments = ["--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-gpu"];
    let options = LaunchOptions {
        path: Some(chromium.to_owned()),
        sandbox: false,
        window_size: Some((1280, 900)),
        args: arguments.iter().map(OsStr::new).collect(),
        idle_browser_timeout: Duration::from_secs(120),
        ..LaunchOptions::default()
    };
    let browser = started(&options);
    browser.set_default_timeout(BROWSER_TIMEOUT);
    let tab = browser.new_tab().unwrap();
    tab.set_default_timeout(BROWSER_TIMEOUT);
    let complaints = listen(&tab);
    tab.navigate_to(&format!("file://{}/page.html", folder.path().display())).unwrap();
    tab.wait_for_element("html[data-complete]").unwrap();
    Some(Opened { _browser: browser, tab, complaints, _folder: folder })
}

/// It waits for Chromium for half a minute, which may not be enough on a busy machine.
fn started(options: &LaunchOptions) -> Browser {
    let started = (0..4).find_map(|_| Browser::new(options.clone()).ok());
    started.unwrap_or_else(|| Browser::new(options.clone()).unwrap())
}

/// Exceptions, console messages, refused requests and violations of the page's policy.
fn listen(tab: &Arc<Tab>) -> Arc<Mutex<Vec<String>>> {
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&complaints);
    let listener = move |event: &Event| {
        let complaint = match event {
            Event::RuntimeExceptionThrown(thrown) => Some(format!("{:?}", thrown.params.exception_details)),
            Event::RuntimeConsoleAPICalled(called) => Some(format!("{:?}", called.params.args)),
            Event::LogEntryAdded(entry) => Some(entry.params.entry.text.clone()),
            _ => None,
        };
        heard.lock().unwrap().extend(complaint);
    };
    tab.enable_runtime().unwrap().enable_log().unwrap();
    tab.add_event_listener(Arc::new(listener)).unwrap();
    complaints
}

impl Opened {
    /// The value of a JavaScript expression, which must be JSON.
    fn value(&self, expression: &str) -> Value {
        let text = self.tab.evaluate(&format!("JSON.stringify({expression})"), true).unwrap().value;
        let text = text.unwrap_or_else(|| panic!("{expression} is nothing"));
        serde_json::from_str(text.as_str().unwrap()).unwrap()
    }

    fn run(&self, statement: &str) {
        self.tab.evaluate(statement, true).unwrap();
    }

    /// Waits until the page has been drawn.
    fn next_frame(&self) {
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// Waits until a value is the wanted one: events and frames may come later.
    #[track_caller]
    fn becomes<T: PartialEq + std::fmt::Debug>(&self, value: impl Fn() -> T, wanted: &T) {
        let began = Instant::now();
        while value() != *wanted && began.elapsed() < BROWSER_TIMEOUT {
            self.next_frame();
        }
        assert_eq!(value(), *wanted);
    }

    /// Waits until a value is another one, and returns that.
    #[track_caller]
    fn changes(&self, value: impl Fn() -> String, from: &str) -> String {
        self.becomes(|| value() == from, &false);
        value()
    }

    fn click(&self, selector: &str) {
        self.tab.find_element(selector).unwrap().click().unwrap();
    }

    fn assert_no_complaints(&self) {
        let complaints = self.complaints.lock().unwrap();
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    /// The names that the table of programs shows, from the top.
    fn programs(&self) -> Vec<String> {
        let rows = "[...document.querySelectorAll('#programs .table-block tbody')][0].rows";
        let names = self
            .value(&format!("[...{rows}].filter((r) => !r.hidden).map((r) => r.cells[0].firstChild.data)"));
        serde_json::from_value(names).unwrap()
    }

    /// The status text of the first timeline.
    fn range(&self) -> String {
        self.next_frame();
        let status = "#timelines article:not([hidden]) .timeline .controls [role=status]";
        self.value(&format!("document.querySelector('{status}').textContent")).as_str().unwrap().to_owned()
    }

    /// A place on the visible canvas, in coordinates of the window.
    fn canvas(&self, x: f64, y: f64) -> Point {
        let canvas = "document.querySelector('#timelines article:not([hidden]) .lanes canvas')";
        self.run(&format!("{canvas}.scrollIntoView({{block: 'center'}})"));
        let found =
            self.value(&format!("(({{left, top}}) => [left, top])({canvas}.getBoundingClientRect())"));
        Point { x: found[0].as_f64().unwrap() + x, y: found[1].as_f64().unwrap() + y }
    }

    fn wheel_with_control(&self, at: Point, delta: f64) {
        let event = Input::DispatchMouseEvent {
            Type: Input::DispatchMouseEventTypeOption::MouseWheel,
            x: at.x,
            y: at.y,
            modifiers: Some(2),
            timestamp: None,
            button: None,
            buttons: None,
            click_count: None,
            force: None,
            tangential_pressure: None,
            tilt_x: None,
            tilt_y: None,
            twist: None,
            delta_x: Some(0.0),
            delta_y: Some(delta),
            pointer_Type: None,
        };
        self.tab.call_method(event).unwrap();
    }
}

#[test]
fn every_tab_opens_with_mouse_and_keyboard_without_an_error() {
    let Some(opened) = open(&documents::all()) else { return };
    let visible =
        "[...document.querySelectorAll('main > section')].filter((s) => !s.hidden).map((s) => s.id)";
    let ids = opened.value("[...document.querySelectorAll('main > section')].map((s) => s.id)");
    assert_eq!(ids.as_array().unwrap().len(), 11);
    let shows = |id: &str| opened.becomes(|| opened.value(visible), &serde_json::json!([id]));
    shows("summary");
    opened.tab.press_key("Tab").unwrap();
    let focused = "document.activeElement.closest('nav.tabs') !== null";
    opened.becomes(|| opened.value(focused), &serde_json::json!(true));
    for id in ids.as_array().unwrap() {
        let id = id.as_str().unwrap();
        opened.click(&format!("nav.tabs a[href='#{id}']"));
        shows(id);
    }
    opened.tab.press_key("Home").unwrap();
    opened.tab.press_key("ArrowRight").unwrap();
    shows("programs");
    opened.click(".badge");
    shows("about");
    opened.assert_no_complaints();
}

#[test]
fn the_table_of_programs_sorts_both_ways_and_filters() {
    let Some(opened) = open(&[("showdown.json", documents::showdown())]) else { return };
    opened.click("nav.tabs a[href='#programs']");
    let shows = |names: &[&str]| {
        opened.becomes(|| opened.programs(), &names.iter().map(ToString::to_string).collect());
    };
    // warm ones first, by first byte
    shows(&["alpha", "beta", "gamma", "beta"]);
    let first_byte = "#programs .table-block thead th:nth-child(4) button";
    opened.click(first_byte);
    shows(&["alpha", "beta", "gamma", "beta"]);
    opened.click(first_byte);
    shows(&["beta", "gamma", "beta", "alpha"]);
    opened.click("#programs input[type=search]");
    opened.tab.type_str("beta cold").unwrap();
    shows(&["beta"]);
    opened.run("document.querySelector('#programs input').value = ''; document.querySelector('#programs input').dispatchEvent(new Event('input'))");
    let cache = "const s = document.querySelector('#programs select'); s.value = 'warm'; s.dispatchEvent(new Event('change'))";
    opened.run(&format!("{{ {cache} }}"));
    opened.becomes(|| opened.programs().len(), &3);
    opened.assert_no_complaints();
}

#[test]
fn the_timeline_zooms_and_describes_the_step_under_the_pointer() {
    let Some(opened) = open(&[("one.json", documents::trace("one", 10_000))]) else { return };
    opened.click("nav.tabs a[href='#timelines']");
    let whole = opened.range();
    opened.wheel_with_control(opened.canvas(400.0, 80.0), -300.0);
    let by_wheel = opened.changes(|| opened.range(), &whole);
    opened.click("#timelines button[aria-label='zoom in']");
    opened.changes(|| opened.range(), &by_wheel);
    opened.run("document.querySelector('#timelines .lanes canvas').focus({preventScroll: true})");
    opened.tab.press_key("0").unwrap();
    opened.becomes(|| opened.range(), &whole);
    opened.click("#timelines button[aria-label='zoom to write']");
    opened.changes(|| opened.range(), &whole);

    // With the whole run visible, every pixel of the first lane stands for several steps.
    opened.run("document.querySelector('#timelines .lanes canvas').focus({preventScroll: true})");
    opened.tab.press_key("0").unwrap();
    opened.becomes(|| opened.range(), &whole);
    opened.tab.move_mouse_to_point(opened.canvas(500.0, 75.0)).unwrap();
    let shown =
        "document.getElementById('tooltip').hidden ? '' : document.getElementById('tooltip').textContent";
    opened.becomes(|| opened.value(shown) == "", &false);
    let shown = opened.value(shown);
    let shown = shown.as_str().unwrap();
    assert!(
        shown.contains("own time 900 ns") && shown.contains("process 100") && shown.contains("/lib/one.so"),
        "{shown}"
    );
    opened.assert_no_complaints();
}

#[test]
fn keys_move_from_step_to_step_and_the_list_leads_into_the_timeline() {
    let Some(opened) = open(&[("one.json", documents::trace("one", 2000))]) else { return };
    opened.click("nav.tabs a[href='#timelines']");
    let detail = "document.querySelector('#timelines .detail').textContent";
    opened.run("document.querySelector('#timelines .lanes canvas').focus({preventScroll: true})");
    opened.tab.press_key("n").unwrap();
    let detailed = || opened.value(detail).as_str().unwrap().to_owned();
    opened.becomes(|| detailed().contains("kernel exec work: one 0"), &true);
    let first = detailed();
    opened.tab.press_key("n").unwrap();
    opened.changes(detailed, &first);
    opened.tab.press_key("p").unwrap();
    opened.becomes(detailed, &first);

    let rows = "document.querySelectorAll('#timelines .steps tbody tr')";
    assert_eq!(opened.value(&format!("{rows}.length")), 200, "a page of system calls");
    opened.run(&format!("{rows}[3].click()"));
    let shown = opened.value(detail);
    assert!(shown.as_str().unwrap().starts_with("system call: "), "{shown}");
    opened.assert_no_complaints();
}

#[test]
fn two_programs_are_shown_side_by_side_with_their_differences() {
    let Some(opened) = open(&documents::all()) else { return };
    opened.click("nav.tabs a[href='#diff']");
    let captions = opened.value("[...document.querySelectorAll('#diff caption')].map((c) => c.textContent)");
    assert_eq!(captions.as_array().unwrap().len(), 4, "{captions}");
    assert_eq!(opened.value("document.querySelectorAll('#diff .lanes canvas').length"), 2);
    let files = opened.value("document.querySelectorAll('#diff table')[3].tBodies[0].textContent");
    let files = files.as_str().unwrap();
    assert!(
        files.contains("/lib/one.soonly the first") && files.contains("/lib/two.soonly the second"),
        "{files}"
    );
    // programs that were only measured have no spans
    opened.run("document.querySelectorAll('#diff select').forEach((s, i) => { s.value = String(2 + i); s.dispatchEvent(new Event('change')) })");
    let phases = opened.value("document.querySelector('#diff table').textContent");
    assert!(phases.as_str().unwrap().contains("4.00 ×"), "alpha and beta: {phases}");
    opened.assert_no_complaints();
}

#[test]
fn hostile_names_inject_nothing_anywhere() {
    let traces: Vec<(String, Value)> = documents::HOSTILE
        .iter()
        .enumerate()
        .map(|(index, name)| (format!("{index}.json"), documents::trace(name, 200)))
        .collect();
    let mut all: Vec<(&str, Value)> =
        traces.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    all.push(("hostile.json", documents::hostile()));
    let others = documents::all_hostile();
    all.extend(others.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let Some(opened) = open(&all) else { return };
    for section in SECTIONS {
        opened.click(&format!("nav.tabs a[href='#{section}']"));
        opened.next_frame();
    }
    opened.run("document.querySelectorAll('#timelines .tabs button').forEach((tab) => tab.click())");
    opened.run("document.querySelectorAll('#timelines .steps tbody tr').forEach((row) => row.click())");
    assert_eq!(opened.value("window.injected === undefined"), true);
    assert_eq!(
        opened.value("document.querySelectorAll('main img, [onmouseover], [onload], [onerror]').length"),
        0
    );
    assert_eq!(
        opened.value(
            "document.scripts.length - document.querySelectorAll('script[type=\"application/json\"]').length"
        ),
        1
    );
    opened.assert_no_complaints();
}

#[test]
fn the_page_fits_a_phone_and_follows_the_colours_of_the_system() {
    let Some(opened) = open(&documents::all()) else { return };
    let background = || opened.value("getComputedStyle(document.body).backgroundColor");
    let light = background();
    let dark = Emulation::MediaFeature { name: "prefers-color-scheme".to_owned(), value: "dark".to_owned() };
    opened.tab.call_method(Emulation::SetEmulatedMedia { media: None, features: Some(vec![dark]) }).unwrap();
    opened.becomes(|| background() == light, &false);
    let bounds = headless_chrome::types::Bounds::Normal {
        left: None,
        top: None,
        width: Some(500.0),
        height: Some(844.0),
    };
    opened.tab.set_bounds(bounds).unwrap();
    for id in SECTIONS {
        opened.click(&format!("nav.tabs a[href='#{id}']"));
        opened.becomes(
            || opened.value("document.scrollingElement.scrollWidth <= innerWidth"),
            &Value::Bool(true),
        );
    }
    opened.assert_no_complaints();
}

#[test]
fn the_printed_page_has_every_section_and_drawn_timelines() {
    let Some(opened) = open(&documents::all()) else { return };
    let pdf = opened.tab.print_to_pdf(None).unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    let pages = pdf.windows(11).filter(|bytes| bytes == b"/Type /Page").count();
    assert!(pages >= 5, "{pages} pages for nine sections");
    opened.run("dispatchEvent(new Event('beforeprint'))");
    let canvases = "[...document.querySelectorAll('#timelines .lanes canvas')]";
    let drawn =
        opened.value(&format!("{canvases}.map((c) => c.getContext('2d').getImageData(5, 60, 1, 1).data[3])"));
    assert_eq!(drawn, serde_json::json!([255, 255]));
    opened.run("dispatchEvent(new Event('afterprint'))");
    opened.assert_no_complaints();
}

/// What is on the screen only because one can click or scroll.
const CUT_ON_PAPER: &str = "[...document.querySelectorAll('main *')].filter((e) => e.offsetWidth > 0 \
    && getComputedStyle(e).overflowY !== 'visible' && !e.matches('.icicle, .icicle *, svg, svg *') \
    && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)).map((e) => e.outerHTML.slice(0, 99))";

#[test]
fn paper_shows_every_panel_whole_and_no_controls() {
    let Some(opened) = open(&documents::all()) else { return };
    let media = |media: &str| Emulation::SetEmulatedMedia { media: Some(media.to_owned()), features: None };
    opened.tab.call_method(media("print")).unwrap();
    opened.run("dispatchEvent(new Event('beforeprint'))");
    opened.next_frame();

    for id in SECTIONS {
        let height = opened.value(&format!("document.querySelector('section#{id}').offsetHeight"));
        assert!(height.as_u64().unwrap() > 40, "{id}: {height}");
    }
    let hidden = |selector: &str| {
        opened.value(&format!(
            "[...document.querySelectorAll('{selector}')].filter((e) => e.offsetHeight === 0).length"
        ))
    };
    assert_eq!(hidden("article.trace, figure, .calls, .icicle, .lanes canvas"), 0);
    assert_eq!(
        opened.value(
            "[...document.querySelectorAll('.tabs, .controls, #tooltip')].every((e) => e.offsetHeight === 0)"
        ),
        true
    );
    assert_eq!(opened.value(CUT_ON_PAPER), serde_json::json!([]), "cut on paper");
    opened.tab.call_method(media("")).unwrap();
    opened.assert_no_complaints();
}

#[test]
fn nothing_is_made_before_it_is_needed_except_in_the_background() {
    let Some(opened) = open(&documents::all()) else { return };
    let [ready, complete] =
        ["ready", "complete"].map(|name| opened.value(&format!("document.documentElement.dataset.{name}")));
    assert!(ready.as_str().unwrap().parse::<u64>().is_ok() && complete == "true", "{ready} {complete}");
    assert_eq!(opened.value("document.querySelectorAll('#timelines .lanes canvas').length"), 2);
    assert_eq!(opened.value("document.querySelectorAll('#summary .icicle').length"), 2);
    opened.assert_no_complaints();
}

#[test]
fn arrow_keys_move_through_the_flame_graph() {
    let Some(opened) = open(&[("one.json", documents::trace("one", 200))]) else { return };
    let focused = || opened.value("document.activeElement.textContent");
    opened.run("document.querySelector('#summary .icicle button').focus()");
    assert_eq!(focused(), "without a symbol");
    for (key, name) in [("ArrowDown", "one::main"), ("ArrowRight", "memcpy"), ("ArrowUp", "without a symbol")]
    {
        opened.tab.press_key(key).unwrap();
        opened.becomes(focused, &serde_json::json!(name));
    }
    let in_order = "document.querySelectorAll('#summary .icicle [tabindex=\"0\"]').length";
    assert_eq!(opened.value(in_order), 1, "one bar is in the tab order");
    opened.assert_no_complaints();
}

#[test]
fn a_flame_graph_of_a_language_has_its_lines_its_callers_and_a_switch_for_the_interpreter() {
    let python = |caller: u64, name: &str, line: u64, ns: u64| {
        serde_json::json!({"caller": caller, "module": "app.py", "function": name, "ns": ns, "language": "Python",
            "file": "/app.py", "line": line})
    };
    let native = |caller: Option<u64>, name: &str| serde_json::json!({"caller": caller, "module": "python3", "function": name, "ns": 1000});
    let mut document = documents::trace("one", 6);
    let result = &mut document["results"][0];
    result["user_calls"] = serde_json::json!([
        native(None, "python3"),
        python(0, "<module>", 1, 1000),
        python(1, "work", 3, 900)
    ]);
    result["all_calls"] = serde_json::json!([
        native(None, "python3"),
        native(Some(0), "Py_RunMain"),
        python(1, "<module>", 1, 1000),
        python(2, "work", 3, 900)
    ]);
    result["source_lines"] = serde_json::json!({"/app.py": {"3": "def work(times):"}});
    let Some(opened) = open(&[("one.json", document)]) else { return };

    let text =
        |selector: &str| opened.value(&format!("document.querySelector('#summary {selector}').textContent"));
    assert_eq!(text(".calls .legend"), "Pythonnative code");
    let work =
        "[...document.querySelectorAll('#summary .icicle button')].find((it) => it.textContent === 'work')";
    let title = "work (app.py:3), 900 ns\ndef work(times):";
    assert_eq!(opened.value(&format!("{work}.title")), title);
    opened.run(&format!("{work}.click()"));
    let said = "work: 900 ns, 90.0 %; called by <module> (app.py:1) 900 ns";
    opened.becomes(|| text(".calls [role=status]"), &serde_json::json!(said));

    let names =
        "[...document.querySelectorAll('#summary .icicle button')].map((it) => it.textContent).join(' ')";
    opened.run("document.querySelector('#summary .calls input[type=checkbox]').click()");
    opened.becomes(|| opened.value(names), &serde_json::json!("python3 Py_RunMain <module> work"));
    opened.run("document.querySelector('#summary .calls input[type=checkbox]').click()");
    opened.becomes(|| opened.value(names), &serde_json::json!("python3 <module> work"));
    opened.assert_no_complaints();
}

#[test]
fn processes_that_follow_each_other_share_a_row_of_the_timeline() {
    let mut document = documents::trace("one", 6);
    let span = |pid: u64, start: u64| serde_json::json!({"pid": pid, "tid": pid, "kind": "user", "name": "x", "start_ns": start, "duration_ns": 900});
    document["results"][0]["spans"] =
        serde_json::json!([span(100, 0), span(101, 1000), span(102, 2000), span(100, 5000)]);
    let Some(opened) = open(&[("one.json", document)]) else { return };
    opened.click("nav.tabs a[href='#timelines']");
    // the head of 44 pixels and two rows of 46: the first process, and the other two one after the other
    let height = serde_json::json!(44 + 2 * 46 + 4);
    opened.becomes(|| opened.value("document.querySelector('#timelines .room').offsetHeight"), &height);
    opened.assert_no_complaints();
}
