// The page: one file, no script, nothing fetched. The plots are SVG, drawn here.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "report.hpp"

namespace sddp {
namespace {

std::string number(double value, int digits = 2) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return "<text x='" + number(x) + "' y='" + number(y) + "' text-anchor='" + anchor + "'>" + text + "</text>\n";
}

/// A round number near `rough`: 1, 2 or 5 times a power of ten.
double round_step(double rough) {
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10.0 * power;
}

/// The bounds over the iterations.
class ConvergencePlot {
 public:
  explicit ConvergencePlot(const std::vector<Iteration>& trace) : trace_(trace) {
    // The first iterations know nothing yet; the scale is made for those after.
    const std::size_t from = trace.size() > 4 ? trace.size() / 5 : 0;
    low_ = high_ = trace[from].lower;
    for (std::size_t i = from; i < trace.size(); ++i) {
      low_ = std::min({low_, trace[i].lower, trace[i].upper - trace[i].half_width});
      high_ = std::max({high_, trace[i].lower, trace[i].upper + trace[i].half_width});
    }
    const double margin = std::max(0.05 * (high_ - low_), 1e-9 * std::max(1.0, std::abs(high_)));
    low_ -= margin;
    high_ += margin;
  }

  [[nodiscard]] std::string svg() const {
    std::string svg =
        "<svg id='convergence' viewBox='0 0 800 340' role='img' aria-label='Bounds by iteration'>\n"
        "<clipPath id='inside'><rect x='80' y='20' width='700' height='270'/></clipPath>\n";
    const double step = round_step((high_ - low_) / 6.0);
    for (double value = std::ceil(low_ / step) * step; value <= high_; value += step) {
      svg += "<line class='grid' x1='80' x2='780' y1='" + number(y(value)) + "' y2='" + number(y(value)) + "'/>\n";
      svg += text_at(72, y(value) + 4, "end", number(value, step < 1.0 ? 3 : 0));
    }
    const auto every = static_cast<std::size_t>(std::max(1.0, round_step(static_cast<double>(trace_.size()) / 10.0)));
    for (std::size_t i = every; i <= trace_.size(); i += every)
      svg += text_at(x(i - 1), 308, "middle", std::to_string(i));
    svg += text_at(430, 332, "middle", "iteration") + "<g clip-path='url(#inside)'>\n<polygon class='band' points='";
    for (std::size_t i = 0; i < trace_.size(); ++i) svg += point(i, trace_[i].upper + trace_[i].half_width);
    for (std::size_t i = trace_.size(); i-- > 0;) svg += point(i, trace_[i].upper - trace_[i].half_width);
    svg += "'/>\n" + line("upper", [](const Iteration& i) { return i.upper; });
    svg += line("lower", [](const Iteration& i) { return i.lower; }) + "</g>\n";
    for (std::size_t i = 0; i < trace_.size(); ++i) {  // a bar to point at, and what to say then
      const double width = 700.0 / static_cast<double>(trace_.size());
      svg += "<rect class='hover' x='" + number(x(i) - width / 2) + "' y='20' width='" + number(width) +
             "' height='270'><title>iteration " + std::to_string(i + 1) + "\nlower " + number(trace_[i].lower, 4) +
             "\nupper " + number(trace_[i].upper, 4) + " ± " + number(trace_[i].half_width, 4) + "</title></rect>\n";
    }
    return svg + "</svg>\n";
  }

 private:
  [[nodiscard]] double x(std::size_t i) const {
    return 80.0 + 700.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(trace_.size());
  }
  [[nodiscard]] double y(double value) const { return 290.0 - 270.0 * (value - low_) / (high_ - low_); }
  [[nodiscard]] std::string point(std::size_t i, double value) const {
    return number(x(i)) + "," + number(y(value)) + " ";
  }
  [[nodiscard]] std::string line(const std::string& name, const std::function<double(const Iteration&)>& value) const {
    std::string svg = "<polyline class='" + name + "' points='";
    for (std::size_t i = 0; i < trace_.size(); ++i) svg += point(i, value(trace_[i]));
    return svg + "'/>\n";
  }

  const std::vector<Iteration>& trace_;
  double low_, high_;
};

/// One bar a rank.
std::string time_plot(const std::vector<TimeSplit>& times) {
  double longest = 1e-9;
  for (const TimeSplit& split : times) longest = std::max(longest, split.total);
  const double height = 24.0 * static_cast<double>(times.size()) + 10.0;
  std::string svg =
      "<svg id='times' viewBox='0 0 800 " + number(height, 0) + "' role='img' aria-label='Time by rank'>\n";
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    const TimeSplit& split = times[rank];
    const double top = 24.0 * static_cast<double>(rank) + 4.0;
    double left = 80.0;
    svg += text_at(72, top + 14, "end", "rank " + std::to_string(rank));
    for (const auto& [name, seconds] : {std::pair{"solve", split.solve},
                                        {"communicate", split.communicate},
                                        {"wait", split.wait},
                                        {"rest", std::max(0.0, split.rest())}}) {
      const double width = 700.0 * seconds / longest;
      svg += std::string("<rect class='") + name + "' x='" + number(left) + "' y='" + number(top) + "' width='" +
             number(width) + "' height='20'><title>" + name + " " + number(seconds, 4) + " s</title></rect>\n";
      left += width;
    }
  }
  return svg + "</svg>\n";
}

/// The same in numbers.
std::string time_table(const std::vector<TimeSplit>& times) {
  std::string html =
      "<table id='split'>\n<tr><th>rank</th><th>total</th><th>solve</th><th>communicate</th><th>wait</th><th>rest</th>"
      "<th>imbalance</th></tr>\n";
  const std::vector<double> shares = imbalances(times);
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    const TimeSplit& split = times[rank];
    html += "<tr><th>" + std::to_string(rank) + "</th>";
    for (const double seconds : {split.total, split.solve, split.communicate, split.wait, split.rest()}) {
      html += "<td>" + number(seconds, 4) + " s</td>";
    }
    html += "<td>" + number(shares[rank], 3) + "</td></tr>\n";
  }
  return html + "</table>\n";
}

std::string fact(const std::string& name, const std::string& value) {
  return "<div><dt>" + name + "</dt><dd>" + value + "</dd></div>\n";
}

constexpr const char* style = R"(<style>
:root { color-scheme: light dark; --ink: #1c2733; --soft: #66727f; --line: #dde3ea; --paper: #fff;
  --lower: #1f6fb4; --upper: #d9822b; --wait: #b9c4cf; --rest: #e6eaef; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #9aa7b4; --line: #33404d; --paper: #161d24;
  --lower: #5aa9e6; --upper: #f0a45d; --wait: #55626f; --rest: #2b3641; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 52rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { color: var(--soft); margin: .25rem 0; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; margin: 1.5rem 0; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; display: block; } svg text { font-size: 12px; fill: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; margin: .5rem 0; }
th, td { text-align: right; padding: .1rem .5rem; border-bottom: 1px solid var(--line); } th { color: var(--soft); }
.grid { stroke: var(--line); } polyline { fill: none; stroke-width: 2; }
polyline.lower { stroke: var(--lower); } polyline.upper { stroke: var(--upper); }
.band { fill: var(--upper); opacity: .18; } .hover { fill: transparent; } .hover:hover { fill: var(--line); opacity: .5; }
rect.solve { fill: var(--lower); } rect.communicate { fill: var(--upper); } rect.wait { fill: var(--wait); }
rect.rest { fill: var(--rest); }
.key span { display: inline-block; margin-right: 1.25rem; } .key i { display: inline-block; width: .8em; height: .8em;
  margin-right: .4em; border-radius: 2px; }
</style>)";

std::string key(std::initializer_list<std::pair<const char*, const char*>> entries) {
  std::string html = "<p class='key'>";
  for (const auto& [colour, text] : entries) {
    html += std::string("<span><i style='background:var(--") + colour + ")'></i>" + text + "</span>";
  }
  return html + "</p>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const Iteration last = report.trace.empty() ? Iteration{} : report.trace.back();
  const Dimensions& d = report.dimensions;
  const std::string name = escape(report.name);
  const std::size_t ranks = report.topology.world_size;
  std::string html = "<!doctype html>\n<html lang='en'>\n<meta charset='utf-8'>\n<title>SDDP: " + name +
                     "</title>\n<meta name='viewport' content='width=device-width'>\n" + style + "\n<h1>SDDP: " + name +
                     "</h1>\n<p>" + std::to_string(d.stages) + " stages, " + std::to_string(d.hydros) + " hydro and " +
                     std::to_string(d.thermals) + " thermal plants, " + std::to_string(d.scenarios) + " scenarios, " +
                     std::to_string(d.openings) + " openings. Backend " + to_string(report.topology.backend) + ", " +
                     std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + " with " +
                     std::to_string(report.threads) + (report.threads == 1 ? " thread" : " threads") +
                     " each.</p>\n<dl>\n";
  html += fact("lower bound", number(last.lower)) +
          fact("upper bound", number(last.upper) + " ± " + number(last.half_width)) +
          fact("gap", number(100.0 * last.gap(), 3) + " %") + fact("iterations", std::to_string(report.trace.size())) +
          fact("ended", to_string(report.status)) + "</dl>\n";
  if (!report.trace.empty()) {
    html += "<h2>Convergence</h2>\n" + ConvergencePlot(report.trace).svg() +
            key({{"lower", "lower bound"}, {"upper", "mean cost of the forward paths, with its 95 % interval"}});
  }
  html += "<h2>Time</h2>\n" + time_plot(report.times) +
          key({{"lower", "solve"}, {"upper", "communicate"}, {"wait", "wait for other ranks"}, {"rest", "rest"}}) +
          time_table(report.times) + "<p>Imbalance: what a rank solved, over the average; the largest is " +
          number(imbalance(report.times), 3) + ". Communication " + number(100.0 * communication_share(report), 3) +
          " % of the time, in " + std::to_string(report.exchanges) + " exchanges.</p>\n</html>\n";
  return html;
}

}  // namespace sddp
