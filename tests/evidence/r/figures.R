# Print R's figures on table.csv: `Rscript figures.R > figures.csv`, in this folder. Needs survey, survival and boot.
suppressPackageStartupMessages({
  library(survey)
  library(survival)
  library(boot)
})
table <- read.csv("table.csv")
cat("number,source,value,digits\n")
show <- function(number, source, value, digits, shown = digits) {
  cat(sprintf("\"%s\",R %s %s,%.*f,%d\n", number, source, packageVersion(source), shown, value, digits))
}

design <- svydesign(ids = ~goal, weights = ~1, data = table)
share <- svymean(~success, design)
show("share of successes over 30 goals", "survey", coef(share), 10)
show("its standard error (svymean)", "survey", SE(share), 10)
for (method in c("logit", "beta")) {
  ends <- confint(svyciprop(~success, design, method = method))
  show(paste0("lower end of svyciprop, ", method), "survey", ends[1], 8)
  show(paste0("upper end of svyciprop, ", method), "survey", ends[2], 8)
}
turns <- svymean(~turns, design)
show("mean of turns over 30 goals", "survey", coef(turns), 10)
show("its standard error", "survey", SE(turns), 10)

curve <- summary(survfit(Surv(turns, event) ~ 1, data = table), times = c(2, 5, 8), rmean = 8)
robust <- summary(survfit(Surv(turns, event) ~ 1, data = table, cluster = goal), times = c(2, 5, 8))
for (place in 1:3) {
  show(paste("Kaplan-Meier at turn", curve$time[place]), "survival", curve$surv[place], 10)
  show(paste("its standard error (Greenwood) at turn", curve$time[place]), "survival", curve$std.err[place], 10)
  show(paste("its standard error over goals at turn", curve$time[place]), "survival", robust$std.err[place], 10)
}
show("restricted mean to turn 8", "survival", curve$table["rmean"], 8)

# Two draws of 100,000 replicates differ in the third digit, so that two can agree.
means <- as.vector(tapply(table$turns, table$goal, mean))
set.seed(1)
drawn <- boot(means, function(x, i) c(mean(x[i]), var(x[i]) / length(i)), R = 100000)
ends <- boot.ci(drawn, type = c("perc", "bca", "stud"))
for (kind in list(c("percentile", "percent"), c("BCa", "bca"), c("studentized", "student"))) {
  show(paste("lower end of", kind[1], "of the goals' mean turns"), "boot", ends[[kind[2]]][4], 2, 4)
  show(paste("upper end of", kind[1], "of the goals' mean turns"), "boot", ends[[kind[2]]][5], 2, 4)
}
